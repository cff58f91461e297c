// That something could not be had, in words for a person.

export class Failure extends Error {
  constructor(status, message, hint = null, at = null) {
    super(message);
    Object.assign(this, { status, hint, at });
  }
}

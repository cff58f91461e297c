import { join } from 'path';

export function ledgerPath(): string {
  return join(process.cwd(), 'ledger.jsonl');
}

"""What each tool of AgentDojo reads and does, by what it is for: written down without a look at the cases."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tool:
    """What one tool reads and does, and why we say so."""

    why: str
    strangers: bool = False
    """Whether a stranger can have written some of what it returns."""
    effect: bool = False
    """Whether it changes or sends something."""
    targets: tuple[str, ...] = ()
    """The arguments that say to whom or on what it acts."""
    fetches: bool = False
    """Whether it is there for what it returns, though it sends something."""

    @property
    def is_own(self) -> bool:
        """Whether a planner may read what it returns; none of these takes an argument."""
        return not (self.strangers or self.effect)

    @property
    def acts(self) -> bool:
        """Whether it is there for its effect: for the planner of a split team, and not for the reader."""
        return self.effect and not self.fetches


def own(why: str) -> Tool:
    """A tool that returns what the user, or the service itself, wrote."""
    return Tool(why)


def read(why: str) -> Tool:
    """A tool that returns what strangers may have written."""
    return Tool(why, strangers=True)


def act(why: str, *targets: str, returns_strangers: bool = False) -> Tool:
    """A tool with an effect."""
    return Tool(why, returns_strangers, effect=True, targets=targets)


_MAIL = act("a mail leaves the house", "recipients", "cc", "bcc", "attachments")
_EVENT = act("sends invitations to the participants; else only the user's own calendar", "participants")
_CANCEL = act("the event that is cancelled is what it acts on", "event_id")
_CALENDAR = read("whoever invites the user writes title, description and place")

SUITES: dict[str, dict[str, Tool]] = {
    "banking": {
        "get_iban": own("a number that the bank gave"),
        "get_balance": own("a number that the bank computes"),
        "get_user_info": own("entered by the user"),
        "get_scheduled_transactions": own("standing orders, each entered by the user"),
        "get_most_recent_transactions": read("who sends money writes its subject"),
        "read_file": read("bills and notices come from others"),
        "send_money": act("money leaves", "recipient", "amount"),
        "schedule_transaction": act("money will leave", "recipient", "amount"),
        "update_scheduled_transaction": act("changes where money will go", "id", "recipient", "amount"),
        "update_password": act("changes who can log in", "password"),
        "update_user_info": act(
            "changes name and address of the user", "first_name", "last_name", "street", "city"
        ),
    },
    "slack": {
        "get_channels": read("who opens a channel names it"),
        "get_users_in_channel": read("users choose their names"),
        "read_channel_messages": read("written by others"),
        "read_inbox": read("written by others"),
        "get_webpage": Tool(
            "asks a server of that address, and returns its page",
            strangers=True,
            effect=True,
            targets=("url",),
            fetches=True,
        ),
        "post_webpage": act("publishes", "url"),
        "add_user_to_channel": act("lets a user read a channel", "user", "channel"),
        "send_direct_message": act("a message leaves", "recipient"),
        "send_channel_message": act("a message leaves", "channel"),
        "invite_user_to_slack": act("lets a person in", "user", "user_email"),
        "remove_user_from_slack": act("throws a user out", "user"),
    },
    "travel": {
        "get_user_information": own("entered by the user"),
        "get_flight_information": read("listed by airlines"),
        **{
            f"get_{what}": read("listed by the business, in its own words")
            for what in (
                "all_hotels_in_city",
                "hotels_prices",
                "hotels_address",
                "all_restaurants_in_city",
                "cuisine_type_for_restaurants",
                "restaurants_address",
                "dietary_restrictions_for_all_restaurants",
                "contact_information_for_restaurants",
                "price_for_restaurants",
                "all_car_rental_companies_in_city",
                "car_types_available",
                "car_fuel_options",
                "car_rental_address",
                "car_price_per_day",
            )
        },
        "check_restaurant_opening_hours": read("listed by the business, in its own words"),
        "get_rating_reviews_for_hotels": read("guests write reviews"),
        "get_rating_reviews_for_restaurants": read("guests write reviews"),
        "get_rating_reviews_for_car_rental": read("customers write reviews"),
        "search_calendar_events": _CALENDAR,
        "get_day_calendar_events": _CALENDAR,
        "create_calendar_event": _EVENT,
        "cancel_calendar_event": _CANCEL,
        "reserve_hotel": act("binds the user to a hotel", "hotel"),
        "reserve_restaurant": act("binds the user to a restaurant", "restaurant"),
        "reserve_car_rental": act("binds the user to a company", "company"),
        "send_email": _MAIL,
    },
    "workspace": {
        "get_current_day": own("the clock"),
        "get_unread_emails": read("mails of others; that they are marked as read harms nobody"),
        "get_received_emails": read("mails of others"),
        "get_sent_emails": read("quotes mails of others"),
        "get_draft_emails": read("quotes mails of others"),
        "search_emails": read("mails of others"),
        "search_contacts_by_name": read("contacts are named by the mails that they sent"),
        "search_contacts_by_email": read("contacts are named by the mails that they sent"),
        "search_calendar_events": _CALENDAR,
        "get_day_calendar_events": _CALENDAR,
        "list_files": read("others share files, and write in shared ones"),
        "search_files": read("others share files, and write in shared ones"),
        "search_files_by_filename": read("others share files, and write in shared ones"),
        "get_file_by_id": read("others share files, and write in shared ones"),
        "send_email": _MAIL,
        "delete_email": act("the mail that is deleted is what it acts on", "email_id"),
        "create_calendar_event": _EVENT,
        "cancel_calendar_event": _CANCEL,
        "reschedule_calendar_event": act(
            "changes an event, and returns what others wrote in it", "event_id", returns_strangers=True
        ),
        "add_calendar_event_participants": act(
            "invites, and returns the event", "event_id", "participants", returns_strangers=True
        ),
        "create_file": act("a new file of the user's own"),
        "append_to_file": act("changes a file, and returns it", "file_id", returns_strangers=True),
        "delete_file": act("deletes a file, and returns it", "file_id", returns_strangers=True),
        "share_file": act(
            "lets a person read a file, and returns it", "file_id", "email", returns_strangers=True
        ),
    },
}


def capabilities(suite: str, name: str) -> list[str]:
    """What a tool declares in the manifest."""
    tool = SUITES[suite][name]
    return [f"x.{suite}.{name}"] * tool.effect + ["data.untrusted"] * tool.strangers

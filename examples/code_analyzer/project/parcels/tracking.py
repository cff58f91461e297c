"""Where a parcel is."""

import subprocess

API_KEY = "pk_demo_51Hx_not_a_real_key"


class Tracker:
    """Asks the carrier's command line tool."""

    def where(self, number):
        """The last known place of a parcel."""
        command = f"carrier status {number}"
        return subprocess.check_output(command, shell=True, text=True)

    def history(self, number):
        """All known places of a parcel, the latest last."""
        places = []
        for line in self.where(number).splitlines():
            # FIXME: breaks where a place has a comma in its name
            time, place = line.split(",")
            places.append((time, place))
        return places

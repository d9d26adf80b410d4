"""Drop rehearsals: find out before the real thing. A drop is played with a synthetic crowd, real browsers and injected faults,
apart from the shop, and ends in go or no-go.

Causer, fault and judge are separate: `crowd` and `browsers` act as people do, `faults` (with `wire`) breaks things, `witness` looks
from outside, `judge` decides from what was written down and knows neither. `stage` is the throwaway Doorman on which all of it
happens, `director` conducts and cleans up, `plan` draws everything from one seed, `report` and `chart` say it to people. `command`
is the command line, `shelf` what the dashboard uses: `begin(data, wish) -> id`, `progress_of`, `report_of`, `of_drop`, `stop`.

A neighbour that dies is what this is about; when a helper of its own dies, the rehearsal ends as "could not be run", never as go.
"""

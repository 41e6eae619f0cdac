"""Who may use the page: a token made at every start, a cookie for the browser that knew it, and the right address.

The page itself holds no secret. What needs the token is the room behind it. The address that ``glove run`` prints
carries the token in its fragment, which browsers do not send; the page exchanges it for a cookie.
"""

from __future__ import annotations

from agents.web.access import COOKIE, Access, new_token

__all__ = ["COOKIE", "Access", "new_token"]

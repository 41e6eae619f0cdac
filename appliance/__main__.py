"""``python -m appliance``: the same as ``glove``."""

from appliance.entry import main

main()

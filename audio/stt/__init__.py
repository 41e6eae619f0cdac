"""Speech to text: the contract, Whisper for finals, Moonshine for partials, scripted recognisers."""

"""What happens in a household: each episode is something that people do or that breaks, and what must come of it.

An episode begins and ends in a room at rest. It raises ``AssertionError`` when the appliance did not do what it should.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from agents.base.clock import wall
from agents.everyday.places import system_zone
from audio.phrases import phrase
from tests.support.household import STORY, Home

Episode = Callable[[Home], Coroutine[Any, Any, None]]


async def question(home: Home) -> None:
    await home.ask("what is two plus two?")
    await home.rest()
    assert "4" in home.heard, home.heard


async def question_after_an_answer(home: Home) -> None:
    await home.ask("what is two plus two?")
    await home.until(lambda: home.device.attention == "follow_up")
    await home.say("and what is three plus three?", 1.2)
    await home.rest()
    assert len(home.turns()) == 2, home.turns()


async def time_of_day(home: Home) -> None:
    await home.ask("what time is it?")
    local = wall().astimezone(system_zone())
    await home.rest()
    assert f"{local.minute:02}" in home.heard, f"{local}: {home.heard}"


async def pause_in_a_sentence(home: Home) -> None:
    await home.ask("tell me about the")
    await asyncio.sleep(0.6)
    await home.say("garden behind the house")
    await home.rest()
    assert len(home.turns()) == 1 and "garden" in home.heard, home.turns()


async def _story(home: Home, seconds: float = 2.0) -> None:
    await home.ask("tell me a story")
    await home.until(lambda: home.of("agent_speech_started"))
    await asyncio.sleep(seconds)


async def story(home: Home) -> None:
    await _story(home)
    await home.rest()
    assert home.heard == STORY, home.heard


async def interruption(home: Home) -> None:
    await _story(home)
    await home.say("wait, what about the garden?", 1.4)
    await home.rest()
    assert home.of("interrupted") and len(home.turns()) == 2, home.turns()
    assert "garden" in home.of("agent_speech_stopped")[-1].heard


async def cough(home: Home) -> None:
    await _story(home)
    await home.say("", 0.3)
    await home.rest()
    assert home.heard == STORY and len(home.turns()) == 1, (home.heard, home.turns())


async def nod(home: Home) -> None:
    await _story(home)
    await home.say("Mhm.", 0.5)
    await home.rest()
    assert home.heard == STORY and len(home.turns()) == 1, (home.heard, home.turns())


async def own_voice(home: Home) -> None:
    await _story(home, 3.0)
    await home.say("there was a house with", 1.2)
    await home.rest()
    assert home.heard == STORY and len(home.turns()) == 1, (home.heard, home.turns())


async def stop_word(home: Home) -> None:
    await _story(home)
    await home.say("Stop.", 0.4)
    await home.rest()
    assert home.of("interrupted") and len(home.of("agent_speech_started")) <= 2


async def wake_word_in_an_answer(home: Home) -> None:
    await _story(home)
    await home.ask("what is two plus two?")
    await home.rest()
    assert home.of("interrupted") and "4" in home.heard, home.heard


async def television(home: Home) -> None:
    for line in ("And now the weather.", "It will rain.", "Stop the train!", "Good night."):
        await home.say(line, 2.0)
        await asyncio.sleep(3.0)
    assert not home.turns() and not home.of("wake") and not home.heard, home.turns()


async def wake_word_and_nothing(home: Home) -> None:
    home.microphone.call()
    await home.until(lambda: home.of("wake"), 5)
    await home.rest(15)
    assert not home.turns()


async def timer(home: Home) -> None:
    await home.ask("set a timer for one minute")
    await home.rest()
    await home.until(lambda: home.ringing, 65)
    await home.until(lambda: home.heard.count("ringing") >= 2, 40)
    await home.say("Stop.", 0.5)
    await home.until(lambda: not home.ringing, 10)
    await home.rest()


async def timer_during_a_story(home: Home) -> None:
    await home.ask("set a timer for ten seconds")
    await home.rest()
    await _story(home)
    await home.until(lambda: "ringing" in home.heard, 60)
    await home.ask("stop", 0.5)
    await home.until(lambda: not home.ringing, 10)
    await home.rest()


async def cancelled_timer(home: Home) -> None:
    await home.ask("set a timer for five minutes")
    await home.rest()
    await home.ask("cancel the timer")
    await home.rest()
    assert not home.daemon.parts.mind.timers.running(), home.heard


async def microphone_unplugged(home: Home) -> None:
    home.microphone.present = False
    home.microphone.said.clear()
    await home.until(lambda: not home.works, 10)
    await asyncio.sleep(30)
    home.microphone.present = True
    await home.until(lambda: home.works, 30)
    await question(home)


async def microphone_silent_without_an_error(home: Home) -> None:
    home.microphone.freeze()
    await home.until(lambda: not home.works, 10)
    await home.until(lambda: home.works, 30)
    await question(home)


async def microphone_lost_in_a_sentence(home: Home) -> None:
    home.microphone.call()
    home.microphone.speak("tell me a very long", 3.0)
    await asyncio.sleep(1.5)
    home.microphone.present = False
    home.microphone.said.clear()
    await asyncio.sleep(8.0)
    home.microphone.present = True
    await home.until(lambda: home.works, 30)
    await home.rest()
    await question(home)


async def speaker_unplugged(home: Home) -> None:
    home.speaker.present = False
    await asyncio.sleep(20)
    home.speaker.present = True
    await asyncio.sleep(10)
    await question(home)


async def speaker_lost_in_an_answer(home: Home) -> None:
    await _story(home)
    home.speaker.present = False
    await asyncio.sleep(5)
    home.speaker.present = True
    await home.rest(180)
    home.events.clear()
    await question(home)


async def model_fails(home: Home) -> None:
    home.model.mood = "failing"
    await home.ask("tell me a story")
    await home.rest()
    home.model.mood = "well"
    assert phrase("unreachable", "en") in home.heard, home.heard
    home.events.clear()
    await story(home)


async def model_hangs(home: Home) -> None:
    home.model.mood = "hanging"
    await home.ask("tell me a story")
    await home.rest()
    home.model.mood = "well"
    assert phrase("too_slow", "en") in home.heard, home.heard
    home.events.clear()
    await story(home)


async def voice_fails(home: Home) -> None:
    for fault in ("open", "before_audio", "after_first_audio", "silent"):
        home.voice.fault = fault  # type: ignore[assignment]
        before = home.sound.sounding
        await home.ask("tell me a story")
        await home.rest()
        assert home.sound.sounding > before, f"{fault}: nothing at all was heard"
        assert home.of("error"), fault
        home.events.clear()
    home.voice.fault = None
    await question(home)


async def recogniser_fails(home: Home) -> None:
    home.stt.broken = home.partials.broken = True
    await home.ask("what is two plus two?")
    await home.rest()
    home.stt.broken = home.partials.broken = False
    assert phrase("not_understood", "en") in home.heard, home.heard
    home.events.clear()
    await question(home)


async def talk_key(home: Home) -> None:
    assert home.device.ptt_down()
    await home.say("what is two plus two?", 1.2)
    home.device.ptt_up()
    await home.until(home.turns, 10)
    await home.rest()
    assert "4" in home.heard, home.heard


async def talk_key_by_mistake(home: Home) -> None:
    home.device.ptt_down()
    await asyncio.sleep(0.05)
    home.device.ptt_up()
    home.device.ptt_down()
    await home.say("never mind", 0.8)
    home.device.ptt_cancel()
    home.device.ptt_up()
    await home.rest()
    assert not home.turns()


async def talk_key_in_an_answer(home: Home) -> None:
    await _story(home)
    home.device.ptt_down()
    await home.say("what is two plus two?", 1.2)
    home.device.ptt_up()
    await home.until(lambda: len(home.turns()) == 2, 10)
    await home.rest()
    assert "4" in home.of("agent_speech_stopped")[-1].heard


async def muted(home: Home) -> None:
    home.device.mute()
    await home.ask("what is two plus two?")
    await asyncio.sleep(5)
    assert not home.turns() and not home.of("wake")
    home.device.unmute()
    await question(home)


async def muted_in_an_answer(home: Home) -> None:
    await _story(home)
    home.device.mute()
    await home.say("wait, what about the garden?", 1.4)
    await home.until(lambda: home.device.settled)
    home.device.unmute()
    await home.rest()
    assert home.heard == STORY, home.heard


async def visitor(home: Home) -> None:
    page = await home.enter("page")
    assert "4" in await page.say("what is two plus two?")
    await page.session.close()
    assert home.daemon.rooms.find("page") is None
    await question(home)


async def notice(home: Home) -> None:
    home.daemon.rooms.notify("Dinner is ready.")
    await home.until(lambda: "Dinner is ready." in home.heard, 30)
    await home.rest()


async def tool(home: Home) -> None:
    await home.ask("please look at everything for me")
    await home.rest()
    assert home.of("tool_use") and home.heard.endswith("That is all."), home.heard


async def end_of_a_conversation(home: Home) -> None:
    await question(home)
    session = home.daemon.rooms.find("device")
    assert session is not None
    before = session.agent.conversation_id
    await asyncio.sleep(home.config.conversation.idle_s + 15)
    await question(home)
    assert session.agent.conversation_id not in (before, None)


async def impatience(home: Home) -> None:
    await _story(home, 0.5)
    for _ in range(3):
        home.device.interrupt()
    home.device.say_to_agent("what is two plus two?")
    home.device.interrupt()
    home.device.say_to_agent("what is two plus two?")
    await home.rest()
    assert "4" in home.of("agent_speech_stopped")[-1].heard


EPISODES: tuple[Episode, ...] = (
    question,
    question_after_an_answer,
    time_of_day,
    pause_in_a_sentence,
    story,
    interruption,
    cough,
    nod,
    own_voice,
    stop_word,
    wake_word_in_an_answer,
    television,
    wake_word_and_nothing,
    timer,
    timer_during_a_story,
    cancelled_timer,
    microphone_unplugged,
    microphone_silent_without_an_error,
    microphone_lost_in_a_sentence,
    speaker_unplugged,
    speaker_lost_in_an_answer,
    model_fails,
    model_hangs,
    voice_fails,
    recogniser_fails,
    talk_key,
    talk_key_by_mistake,
    talk_key_in_an_answer,
    muted,
    muted_in_an_answer,
    visitor,
    notice,
    tool,
    end_of_a_conversation,
    impatience,
)

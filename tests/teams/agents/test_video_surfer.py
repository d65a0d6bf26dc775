"""A VideoSurfer without its extra; tests/extras/video-surfer has the others."""

from importlib.util import find_spec

import pytest

from teams.agents.video_surfer import VideoSurfer, tools
from teams.models import ModelInfo
from teams.models.replay import ReplayChatCompletionClient

ALL = ModelInfo(
    vision=True, function_calling=True, json_output=True, structured_output=True, family="unknown"
)


@pytest.mark.skipif(find_spec("av") is not None, reason="the extra is here")
def test_without_its_extra_it_names_it():
    with pytest.raises(ImportError, match=r"pip install 'parley-gateway\[video-surfer\]'"):
        VideoSurfer("v", ReplayChatCompletionClient([], ALL))
    with pytest.raises(ImportError, match="video-surfer"):
        tools.get_video_length("clip.mp4")

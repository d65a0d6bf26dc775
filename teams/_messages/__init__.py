"""The message and event types behind `teams.messages`."""

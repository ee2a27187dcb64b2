"""serve.look_up: guesses for what follows a request's tokens."""

"""What happens in a run, in order: the events, what is put in place to hear them, what is known of the step so far."""

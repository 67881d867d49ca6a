"""What the user asked for: settings, the torch release that is meant, which rules are active and where rules come from."""

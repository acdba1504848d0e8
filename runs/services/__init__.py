"""The only writers. Each change and its announcement live together and happen on commit."""

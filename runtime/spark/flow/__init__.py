"""From DataFrames of events to DataFrames of matches."""

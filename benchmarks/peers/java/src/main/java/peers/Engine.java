package peers;

/** What is measured. */
public interface Engine {
    /** Prepare the query, {@link Tally#start start} the clock, take all events in order, deliver every match. */
    void run(Data data, String query, String check, Tally tally) throws Exception;
}

package peers.flink;

import java.util.List;
import java.util.Map;
import java.util.function.ToLongFunction;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.cep.CEP;
import org.apache.flink.cep.functions.PatternProcessFunction;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.SingleOutputStreamOperator;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.legacy.RichSinkFunction;
import org.apache.flink.streaming.api.functions.source.legacy.SourceFunction;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.util.Collector;
import peers.Data;
import peers.Engine;
import peers.Tally;

/**
 * Flink CEP in a local cluster of one slot, without checkpoints, objects reused.
 *
 * <p>The source hands out events from memory and a watermark every {@link #STRIDE} events. Source, operator and sink run
 * in this process, so the listener is reached through static fields; what Flink serialises are names and lambdas.
 */
public final class FlinkCep implements Engine {
    private static final int STRIDE = 100;
    private static final long DISORDER = 10_000;

    private static Event[] events;
    private static Tally listener;
    private static ToLongFunction<Event> field;

    @Override
    public void run(Data data, String query, String check, Tally tally) throws Exception {
        String[] words = query.strip().split(" ");
        Patterns chosen = Patterns.of(words[0], Long.parseLong(words[1]));
        events = data.events.stream().map(e -> Event.of(e, data.streams.get(e.stream()))).toArray(Event[]::new);
        data.events.clear();
        listener = tally;
        field = chosen.field();
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(1, new Configuration());
        environment.getConfig().enableObjectReuse();
        DataStream<Event> stream = environment
                .addSource(new FromMemory(), "memory", TypeInformation.of(Event.class))
                .filter(chosen.needed());
        if (chosen.key() != null) {
            stream = stream.keyBy(chosen.key());
        }
        SingleOutputStreamOperator<Long> found =
                CEP.pattern(stream, chosen.pattern()).process(new Checked(chosen.checked()));
        found.addSink(new Listener());
        environment.execute();
    }

    /** All events, in order of arrival. */
    public static final class FromMemory implements SourceFunction<Event> {
        private volatile boolean running = true;

        @Override
        public void run(SourceContext<Event> context) {
            listener.start();
            long largest = 0;
            for (int i = 0; i < events.length && running; i++) {
                largest = Math.max(largest, events[i].ts);
                context.collectWithTimestamp(events[i], events[i].ts);
                if (i % STRIDE == STRIDE - 1) {
                    context.emitWatermark(new Watermark(largest - DISORDER - 1));
                    listener.taken(i + 1);
                }
            }
            listener.taken(events.length);
        }

        @Override
        public void cancel() {
            running = false;
        }
    }

    /** What of a match goes on: one field of one of its events. */
    public static final class Checked extends PatternProcessFunction<Event, Long> {
        private final String step;

        Checked(String step) {
            this.step = step;
        }

        @Override
        public void processMatch(Map<String, List<Event>> match, Context context, Collector<Long> out) {
            out.collect(field.applyAsLong(match.get(step).get(0)));
        }
    }

    /** Counts. */
    public static final class Listener extends RichSinkFunction<Long> {
        @Override
        public void invoke(Long value, Context context) {
            listener.delivered(1, value);
        }

        @Override
        public void finish() {
            listener.stop();
        }
    }
}

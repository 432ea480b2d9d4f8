package peers.siddhi;

import io.siddhi.core.SiddhiAppRuntime;
import io.siddhi.core.SiddhiManager;
import io.siddhi.core.event.Event;
import io.siddhi.core.stream.input.InputHandler;
import io.siddhi.core.stream.output.StreamCallback;
import java.util.ArrayList;
import java.util.List;
import peers.Data;
import peers.Engine;
import peers.Tally;

/** Siddhi in one thread; time is that of the events (playback). The query writes to the stream Out. */
public final class Siddhi implements Engine {
    @Override
    public void run(Data data, String query, String check, Tally tally) throws Exception {
        SiddhiAppRuntime runtime = new SiddhiManager().createSiddhiAppRuntime("@app:playback\n" + schemas(data) + query);
        int checked = runtime.getStreamDefinitionMap().get("Out").getAttributePosition(check);
        runtime.addCallback("Out", new StreamCallback() {
            @Override
            public void receive(Event[] found) {
                long sum = 0;
                for (Event match : found) {
                    sum += (Long) match.getData(checked);
                }
                tally.delivered(found.length, sum);
            }
        });
        List<InputHandler> inputs = new ArrayList<>();
        for (Data.Stream stream : data.streams) {
            inputs.add(runtime.getInputHandler(stream.name()));
        }
        runtime.start();
        tally.start();
        long taken = 0;
        for (Data.Event event : data.events) {
            inputs.get(event.stream()).send(new Event(event.time(), event.values()));
            tally.taken(++taken);
        }
        tally.stop();
        runtime.shutdown();
    }

    private static String schemas(Data data) {
        StringBuilder text = new StringBuilder();
        for (Data.Stream stream : data.streams) {
            text.append("define stream ").append(stream.name()).append(" (");
            for (int i = 0; i < stream.columns().size(); i++) {
                text.append(i == 0 ? "" : ", ").append(stream.columns().get(i)).append(" ").append(stream.types().get(i));
            }
            text.append(");\n");
        }
        return text.toString();
    }
}

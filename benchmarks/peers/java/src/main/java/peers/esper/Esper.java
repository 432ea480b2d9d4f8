package peers.esper;

import com.espertech.esper.common.client.EPCompiled;
import com.espertech.esper.common.client.EventBean;
import com.espertech.esper.common.client.EventPropertyGetter;
import com.espertech.esper.common.client.configuration.Configuration;
import com.espertech.esper.compiler.client.CompilerArguments;
import com.espertech.esper.compiler.client.EPCompilerProvider;
import com.espertech.esper.runtime.client.EPEventService;
import com.espertech.esper.runtime.client.EPRuntime;
import com.espertech.esper.runtime.client.EPRuntimeProvider;
import com.espertech.esper.runtime.client.EPStatement;
import peers.Data;
import peers.Engine;
import peers.Tally;

/** Esper in one thread; time is that of the events, the largest so far. Events are object arrays. */
public final class Esper implements Engine {
    @Override
    public void run(Data data, String query, String check, Tally tally) throws Exception {
        Configuration configuration = new Configuration();
        configuration.getRuntime().getThreading().setInternalTimerEnabled(false);
        String module = schemas(data) + query;
        EPCompiled compiled = EPCompilerProvider.getCompiler().compile(module, new CompilerArguments(configuration));
        EPRuntime runtime = EPRuntimeProvider.getDefaultRuntime(configuration);
        EPEventService service = runtime.getEventService();
        service.advanceTime(0);
        EPStatement statement = null;
        for (EPStatement each : runtime.getDeploymentService().deploy(compiled).getStatements()) {
            if ("out".equals(each.getName())) {
                statement = each;
            }
        }
        EventPropertyGetter getter = statement.getEventType().getGetter(check);
        statement.addListener((added, removed, from, engine) -> {
            long sum = 0;
            for (EventBean match : added) {
                sum += (Long) getter.get(match);
            }
            tally.delivered(added.length, sum);
        });
        String[] names = data.streams.stream().map(Data.Stream::name).toArray(String[]::new);
        tally.start();
        long now = 0;
        long taken = 0;
        for (Data.Event event : data.events) {
            if (event.time() > now) {
                now = event.time();
                service.advanceTime(now);
            }
            service.sendEventObjectArray(event.values(), names[event.stream()]);
            tally.taken(++taken);
        }
        service.advanceTime(now + 60_000); // what was held back to be put in order
        tally.stop();
        runtime.destroy();
    }

    private static String schemas(Data data) {
        StringBuilder text = new StringBuilder();
        for (Data.Stream stream : data.streams) {
            text.append("@public @buseventtype create objectarray schema ").append(stream.name()).append("(");
            for (int i = 0; i < stream.columns().size(); i++) {
                text.append(i == 0 ? "" : ", ").append(stream.columns().get(i)).append(" ").append(stream.types().get(i));
            }
            text.append(");\n");
        }
        return text.toString();
    }
}

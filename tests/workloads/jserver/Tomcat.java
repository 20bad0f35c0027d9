import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.CharArrayWriter;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.catalina.Context;
import org.apache.catalina.valves.AbstractAccessLogValve;

/** Tomcat as it is embedded in Spring Boot: its NIO connector, with an access log that is counted. */
public final class Tomcat {
	static final AtomicInteger accesses = new AtomicInteger();

	static final class Servlet extends HttpServlet {
		@Override
		protected void service(HttpServletRequest request, HttpServletResponse response)
				throws IOException {
			byte[] body = Answers.answer(request.getRequestURI());

			response.setContentLength(body.length);
			response.getOutputStream().write(body);
		}
	}

	static final class Log extends AbstractAccessLogValve {
		@Override
		protected void log(CharArrayWriter message) {
			accesses.incrementAndGet();
		}
	}

	public static void main(String[] args) throws Exception {
		org.apache.catalina.startup.Tomcat tomcat = new org.apache.catalina.startup.Tomcat();
		File folder = Files.createTempDirectory("tomcat").toFile();
		Log log = new Log();
		Context context;

		folder.deleteOnExit();
		java.util.logging.Logger.getLogger("").setLevel(java.util.logging.Level.WARNING);
		tomcat.setBaseDir(folder.getPath());
		tomcat.setPort(0);
		tomcat.setHostname("127.0.0.1");
		context = tomcat.addContext("", null);
		tomcat.addServlet("", "answers", new Servlet());
		context.addServletMappingDecoded("/", "answers");
		log.setPattern("%r");
		tomcat.getEngine().getPipeline().addValve(log);
		tomcat.getConnector();
		tomcat.start();
		Answers.say(tomcat.getConnector().getLocalPort(), accesses::get);
	}
}

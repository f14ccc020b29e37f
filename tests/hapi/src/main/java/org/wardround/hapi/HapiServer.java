package org.wardround.hapi;

import ca.uhn.fhir.context.support.IValidationSupport;
import ca.uhn.fhir.jpa.api.config.JpaStorageSettings;
import ca.uhn.fhir.jpa.api.dao.IFhirSystemDao;
import ca.uhn.fhir.jpa.provider.IJpaSystemProvider;
import ca.uhn.fhir.jpa.provider.JpaCapabilityStatementProvider;
import ca.uhn.fhir.jpa.search.DatabaseBackedPagingProvider;
import ca.uhn.fhir.rest.api.EncodingEnum;
import ca.uhn.fhir.rest.server.RestfulServer;
import ca.uhn.fhir.rest.server.provider.ResourceProviderFactory;
import ca.uhn.fhir.rest.server.util.ISearchParamRegistry;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.eclipse.jetty.ee10.servlet.ServletContextHandler;
import org.eclipse.jetty.ee10.servlet.ServletHolder;
import org.eclipse.jetty.http.UriCompliance;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;

/**
 * Serves HAPI FHIR JPA at {@code http://127.0.0.1:PORT/fhir} until it is told to end.
 *
 * <p>Arguments: PORT (0: any free one) and READY, a file that appears, holding the base URL, once requests are served.
 */
public final class HapiServer {

    private static final int DEFAULT_PAGE = 20;
    private static final int LARGEST_PAGE = 5000;

    private HapiServer() {}

    public static void main(String[] args) throws Exception {
        if (args.length != 2) {
            System.err.println("usage: HapiServer PORT READY");
            System.exit(2);
        }
        AnnotationConfigApplicationContext beans = new AnnotationConfigApplicationContext(JpaSettings.class);
        Server jetty = listenOn(Integer.parseInt(args[0]), fhirServlet(beans));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> end(jetty, beans)));
        jetty.start();

        int port = ((ServerConnector) jetty.getConnectors()[0]).getLocalPort();
        announce(Path.of(args[1]), "http://127.0.0.1:" + port + "/fhir");
        jetty.join();
    }

    private static RestfulServer fhirServlet(AnnotationConfigApplicationContext beans) {
        IFhirSystemDao<?, ?> system = beans.getBean(IFhirSystemDao.class);
        RestfulServer fhir = new RestfulServer(system.getContext());

        fhir.registerProviders(beans.getBean(ResourceProviderFactory.class).createProviders());
        fhir.registerProvider(beans.getBean(IJpaSystemProvider.class));
        fhir.setServerConformanceProvider(new JpaCapabilityStatementProvider(
                fhir,
                system,
                beans.getBean(JpaStorageSettings.class),
                beans.getBean(ISearchParamRegistry.class),
                beans.getBean(IValidationSupport.class)));

        DatabaseBackedPagingProvider pages = beans.getBean(DatabaseBackedPagingProvider.class);
        pages.setDefaultPageSize(DEFAULT_PAGE);
        pages.setMaximumPageSize(LARGEST_PAGE);
        fhir.setPagingProvider(pages);
        fhir.setDefaultResponseEncoding(EncodingEnum.JSON);
        return fhir;
    }

    private static Server listenOn(int port, RestfulServer fhir) {
        Server jetty = new Server();
        HttpConfiguration http = new HttpConfiguration();
        // A raw "|" between system and code is what many FHIR clients send.
        http.setUriCompliance(UriCompliance.UNSAFE);
        http.setSendServerVersion(false);
        ServerConnector connector = new ServerConnector(jetty, new HttpConnectionFactory(http));
        connector.setHost(new InetSocketAddress("127.0.0.1", port).getHostString());
        connector.setPort(port);
        jetty.addConnector(connector);

        ServletContextHandler context = new ServletContextHandler("/");
        ServletHolder holder = new ServletHolder(fhir);
        holder.setInitOrder(1);
        context.addServlet(holder, "/fhir/*");
        jetty.setHandler(context);
        return jetty;
    }

    /** Written beside its place and moved there, so that whoever waits for it never reads half a line. */
    private static void announce(Path ready, String baseUrl) throws Exception {
        Path part = ready.resolveSibling(ready.getFileName() + ".part");
        Files.writeString(part, baseUrl + "\n");
        Files.move(part, ready, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    private static void end(Server jetty, AnnotationConfigApplicationContext beans) {
        try {
            jetty.stop();
        } catch (Exception error) {
            System.err.println("HTTP did not end cleanly: " + error);
        } finally {
            beans.close();
        }
    }
}

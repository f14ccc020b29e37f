package org.wardround.hapi;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.hibernate.resource.jdbc.spi.StatementInspector;

/**
 * Rewords HAPI's look-up of many ids so that H2 answers it by index.
 *
 * <p>For each transaction HAPI asks {@code (RES_TYPE=? and FHIR_ID=? or RES_TYPE=? and FHIR_ID=? ...)}. H2 reads the
 * whole table for that, which makes loading quadratic; for {@code (RES_TYPE, FHIR_ID) in ((?,?), ...)}, the same in
 * other words and with the same parameters, it uses the index that is there.
 */
public final class IdLookup implements StatementInspector {

    private static final String PAIR = "\\w+\\.RES_TYPE=\\? and \\w+\\.FHIR_ID=\\?";
    private static final Pattern LOOKUP =
            Pattern.compile("where \\((\\w+)\\.RES_TYPE=\\? and \\1\\.FHIR_ID=\\?((?: or " + PAIR + ")+)\\)$");
    private static final Pattern OR = Pattern.compile(" or ");

    @Override
    public String inspect(String sql) {
        if (!sql.endsWith(".FHIR_ID=?)")) {
            return sql;
        }
        Matcher lookup = LOOKUP.matcher(sql);
        if (!lookup.find()) {
            return sql;
        }
        String table = lookup.group(1);
        long others = OR.matcher(lookup.group(2)).results().count();
        return sql.substring(0, lookup.start())
                + "where (" + table + ".RES_TYPE," + table + ".FHIR_ID) in ((?,?)" + ",(?,?)".repeat((int) others) + ")";
    }
}

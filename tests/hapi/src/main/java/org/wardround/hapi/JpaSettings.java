package org.wardround.hapi;

import ca.uhn.fhir.batch2.jobs.config.Batch2JobsConfig;
import ca.uhn.fhir.context.FhirContext;
import ca.uhn.fhir.jpa.api.config.JpaStorageSettings;
import ca.uhn.fhir.jpa.api.config.ThreadPoolFactoryConfig;
import ca.uhn.fhir.jpa.batch2.JpaBatch2Config;
import ca.uhn.fhir.jpa.config.HapiJpaConfig;
import ca.uhn.fhir.jpa.config.r4.JpaR4Config;
import ca.uhn.fhir.jpa.config.util.HapiEntityManagerFactoryUtil;
import ca.uhn.fhir.jpa.model.config.PartitionSettings;
import ca.uhn.fhir.jpa.model.config.SubscriptionSettings;
import ca.uhn.fhir.jpa.model.dialect.HapiFhirH2Dialect;
import ca.uhn.fhir.jpa.model.entity.StorageSettings;
import ca.uhn.fhir.jpa.subscription.channel.config.SubscriptionChannelConfig;
import ca.uhn.fhir.jpa.subscription.submit.config.SubscriptionSubmitterConfig;
import ca.uhn.fhir.rest.api.SearchTotalModeEnum;
import jakarta.persistence.EntityManagerFactory;
import java.util.Map;
import javax.sql.DataSource;
import org.apache.commons.dbcp2.BasicDataSource;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Primary;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.transaction.annotation.EnableTransactionManagement;

/**
 * HAPI's R4 storage over one H2 database, set so that test data of any origin can be put in and every answer is exact.
 */
@Configuration
@EnableTransactionManagement
@Import({
    JpaR4Config.class,
    HapiJpaConfig.class,
    JpaBatch2Config.class,
    Batch2JobsConfig.class,
    SubscriptionSubmitterConfig.class,
    SubscriptionChannelConfig.class,
    ThreadPoolFactoryConfig.class
})
public class JpaSettings {

    /** The H2 url, e.g. {@code jdbc:h2:mem:hapi} or {@code jdbc:h2:file:/some/folder/hapi}. */
    static final String DATABASE = "wardround.database";

    /** Set for the benchmark: faster loading, and no index of what is missing (no {@code :missing} searches). */
    static final String BULK = "wardround.bulk";

    @Bean
    public JpaStorageSettings storageSettings() {
        JpaStorageSettings settings = new JpaStorageSettings();
        // Ids are the clients', digits included; ids that the server gives can then not collide with them.
        settings.setResourceClientIdStrategy(JpaStorageSettings.ClientIdStrategyEnum.ANY);
        settings.setResourceServerIdStrategy(JpaStorageSettings.IdStrategyEnum.UUID);
        // Charts name Encounters, Practitioners and Organizations that were not loaded with them.
        settings.setEnforceReferentialIntegrityOnWrite(false);
        settings.setEnforceReferentialIntegrityOnDelete(false);
        settings.setAllowExternalReferences(true);
        // :missing and :contains are part of the suite; both are off by default.
        settings.setIndexMissingFields(
                Boolean.getBoolean(BULK)
                        ? StorageSettings.IndexEnabledEnum.DISABLED
                        : StorageSettings.IndexEnabledEnum.ENABLED);
        settings.setAllowContainsSearches(true);
        // A chart is loaded once and whole: what guards single writes would only make that slow.
        settings.setMassIngestionMode(Boolean.getBoolean(BULK));
        // What can't be deleted may be looked up in memory.
        settings.setDeleteEnabled(!Boolean.getBoolean(BULK));
        settings.setStoreMetaSourceInformation(JpaStorageSettings.StoreMetaSourceInformationEnum.NONE);
        // Every Bundle says how many there are, and no search sees the answer of an earlier one.
        settings.setDefaultTotalMode(SearchTotalModeEnum.ACCURATE);
        settings.setReuseCachedSearchResultsForMillis(null);
        settings.setStatusBasedReindexingDisabled(true);
        settings.setEnableTaskPreExpandValueSets(false);
        settings.setPreExpandValueSets(false);
        settings.setHibernateSearchIndexFullText(false);
        return settings;
    }

    @Bean
    public PartitionSettings partitionSettings() {
        return new PartitionSettings();
    }

    @Bean
    public SubscriptionSettings subscriptionSettings() {
        return new SubscriptionSettings();
    }

    @Bean(destroyMethod = "close")
    public DataSource dataSource() {
        BasicDataSource source = new BasicDataSource();
        source.setUrl(System.getProperty(DATABASE, "jdbc:h2:mem:hapi;DB_CLOSE_DELAY=-1"));
        source.setDriverClassName("org.h2.Driver");
        source.setUsername("sa");
        source.setPassword("");
        source.setMaxTotal(24);
        source.setMaxIdle(24);
        return source;
    }

    @Primary
    @Bean
    public LocalContainerEntityManagerFactoryBean entityManagerFactory(
            ConfigurableListableBeanFactory beans, FhirContext fhir, JpaStorageSettings settings, DataSource source) {
        LocalContainerEntityManagerFactoryBean factory =
                HapiEntityManagerFactoryUtil.newEntityManagerFactory(beans, fhir, settings);
        factory.setPersistenceUnitName("wardround-test");
        factory.setDataSource(source);
        factory.setJpaPropertyMap(Map.of(
                "hibernate.dialect", HapiFhirH2Dialect.class.getName(),
                "hibernate.hbm2ddl.auto", "update",
                "hibernate.jdbc.batch_size", "100",
                "hibernate.order_inserts", "true",
                "hibernate.session_factory.statement_inspector", IdLookup.class.getName(),
                "hibernate.cache.use_second_level_cache", "false",
                "hibernate.search.enabled", "false"));
        return factory;
    }

    @Primary
    @Bean
    public JpaTransactionManager transactionManager(EntityManagerFactory factory) {
        return new JpaTransactionManager(factory);
    }
}

/**
 * The settings in force, for `GET /v1/settings`. Secrets have no value here, and neither have URLs that may contain a password.
 */

import { readConfig, SECRET_SETTINGS, SETTING_NAMES, type Config, type SettingName } from '../config.ts'
import type { Addresses } from './addresses.ts'
import { SETTINGS_HELP } from './setting-descriptions.ts'

export interface InForce {
  readonly name: SettingName
  readonly inForce: string | null
  readonly fallback: string
  readonly isDefault: boolean
  readonly isSecret: boolean
  readonly meaning: string
}

type Read = (config: Config, addresses: Addresses) => unknown

const READ: Readonly<Record<SettingName, Read>> = {
  GATEWAY_PORT: (_, { gatewayPort }) => gatewayPort,
  PLATFORM_PORT: (_, { platformPort }) => platformPort,
  RISK_PORT: (_, { riskPort }) => riskPort,
  HOST: ({ host }) => host,
  GATEWAY_URL: (_, { gatewayUrl }) => gatewayUrl,
  BASE_URL: (_, { baseUrl }) => baseUrl,
  RISK_URL: (_, { riskUrl }) => riskUrl,
  GATEWAY_THREADS: ({ gatewayThreads }) => gatewayThreads,
  DATA_DIR: ({ dataDir }) => dataDir,
  CLICKHOUSE_URL: ({ clickhouseUrl }) => clickhouseUrl,
  CLICKHOUSE_CLUSTER: ({ clickhouseCluster }) => clickhouseCluster,
  REDIS_URL: ({ redisUrl }) => redisUrl,
  LIMITS_WITHOUT_REDIS: ({ limitsWithoutRedis }) => limitsWithoutRedis,
  DATABASE_URL: ({ databaseUrl }) => databaseUrl,
  NODE_NAME: ({ nodeName }) => nodeName,
  MAX_STALENESS_SECONDS: ({ maxStalenessSeconds }) => maxStalenessSeconds,
  ADDRESSES_MAY_DIFFER: ({ addressesMayDiffer }) => (addressesMayDiffer ? 'on' : 'off'),
  MASTER_KEY: ({ masterKey }) => masterKey,
  ADMIN_CLIENT_ID: ({ adminClientId }) => adminClientId,
  ADMIN_CLIENT_SECRET: ({ adminClientSecret }) => adminClientSecret,
  ADMIN_TENANT: ({ adminTenant }) => adminTenant,
  SPOOL_SYNC: ({ spoolSync }) => spoolSync,
  SPOOL_MAX_BYTES: ({ spoolMaxBytes }) => spoolMaxBytes,
  METRICS_PORT: (_, { metricsPort }) => metricsPort,
  METRICS_TOKEN: ({ metricsToken }) => metricsToken,
  REQUEST_LOG: ({ requestLog }) => requestLog,
  DEVELOPMENT: ({ isDevelopment }) => (isDevelopment ? 'on' : 'off'),
  RISK_THRESHOLDS: ({ riskRules }) => riskRules,
  RETENTION_LINE_ITEMS_DAYS: ({ retentionDays }) => retentionDays.lineItems,
  RETENTION_SUMS_DAYS: ({ retentionDays }) => retentionDays.sums,
  RETENTION_RISKS_DAYS: ({ retentionDays }) => retentionDays.risks,
  RETENTION_REQUESTS_DAYS: ({ retentionDays }) => retentionDays.requests,
  ALLOW_PRIVATE_ADDRESSES: ({ allowPrivateAddresses }) => allowPrivateAddresses.join(',') || null,
  TLS_CERT_FILE: ({ tls }) => tls?.pair?.certFile,
  TLS_KEY_FILE: ({ tls }) => tls?.pair?.keyFile,
  TLS_CERT_DIR: ({ tls }) => tls?.folder,
  TLS_CLIENT_CA_FILE: ({ tls }) => tls?.clientCaFile,
  HTTP_REDIRECT_PORT: (_, { redirectPort }) => redirectPort,
  TRUSTED_PROXIES: ({ trustedProxies }) => trustedProxies.join(',') || null,
  CORS_ORIGINS: ({ corsOrigins }) => corsOrigins.join(',') || null,
  MCP_DYNAMIC_REGISTRATION: ({ mcpDynamicRegistration }) => (mcpDynamicRegistration ? 'on' : 'off'),
  MCP_MESSAGES_PER_MINUTE: ({ mcpMessagesPerMinute }) => mcpMessagesPerMinute,
  STOP_DELAY_SECONDS: ({ stopDelaySeconds }) => stopDelaySeconds,
  LOG_LEVEL: ({ logLevel }) => logLevel,
}

/** The addresses of a service without settings. */
const NO_ADDRESSES: Addresses = {
  gatewayPort: 8080,
  platformPort: 8081,
  riskPort: null,
  metricsPort: null,
  redirectPort: null,
  gatewayUrl: '',
  baseUrl: '',
  riskUrl: '',
}
const DERIVED: Readonly<Partial<Record<SettingName, (config: Config) => string | null>>> = {
  GATEWAY_URL: ({ gatewayUrl }) => gatewayUrl,
  BASE_URL: ({ baseUrl }) => baseUrl,
  RISK_URL: ({ riskUrl }) => riskUrl,
}

export function settingsInForce(config: Config, addresses: Addresses): readonly InForce[] {
  const defaults = readConfig([], {})
  return SETTING_NAMES.map((name) => {
    const isSecret = SECRET_SETTINGS.has(name)
    const value = toText(READ[name](config, addresses))
    const derived = DERIVED[name]
    const isDefault =
      derived === undefined ? value === toText(READ[name](defaults, NO_ADDRESSES)) : derived(config) === null
    return { name, inForce: isSecret ? null : value, isDefault, isSecret, ...SETTINGS_HELP[name] }
  })
}

/** Returns the value of a setting as text, also that of a secret; null: unset. */
export function settingText(name: SettingName, config: Config, addresses: Addresses): string | null {
  return toText(READ[name](config, addresses))
}

function toText(value: unknown): string | null {
  if (value === null || value === undefined) return null
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

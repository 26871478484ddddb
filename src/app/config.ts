/**
 * Settings: environment variables, each with a flag of the same name (`--gateway-port 9000` or
 * `--gateway-port=9000` for `GATEWAY_PORT`). A flag overrides its variable.
 *
 * Unknown flags and malformed values refuse the start, with one line each, before anything is opened.
 */

import { availableParallelism, hostname } from 'node:os'
import { resolve } from 'node:path'
import { DEFAULT_RISK_RULES, type RiskRules } from '../pipeline/risk/risk-rules.ts'
import { readThresholds } from '../pipeline/risk/risk-thresholds.ts'
import type { SpoolSync } from '../storage/spool/spool-writer-options.ts'
import { LOG_LEVELS, type LogLevel } from '../foundation/runtime/log.ts'
import { readFlags } from './settings/flags.ts'
import {
  address,
  cluster,
  host,
  listOf,
  networks,
  nodeName,
  NODE_NAME_MAX,
  oneOf,
  origins,
  port,
  publicAddress,
  server,
  tenant,
  text,
  token,
  whole,
  type Read,
} from '../foundation/settings/setting-values.ts'
import { notThis } from './settings/quote-values.ts'
import { readRetention } from './settings/retention-settings.ts'
import { readTelemetry, type TelemetrySettings } from '../pipeline/telemetry/telemetry-settings.ts'
import { readTls, type TlsConfig } from './settings/tls-settings.ts'
import type { RetentionDays } from '../storage/store/retention.ts'

export interface Config extends TlsConfig, TelemetrySettings {
  readonly gatewayPort: number
  readonly platformPort: number
  readonly riskPort: number | null
  readonly host: string
  /** Public addresses; null: derived from host and port once they are bound. */
  readonly gatewayUrl: string | null
  readonly baseUrl: string | null
  readonly riskUrl: string | null
  readonly gatewayThreads: number
  readonly dataDir: string
  readonly clickhouseUrl: string | null
  /** Cluster of that server, whose replicas hold usage; null: the server alone. */
  readonly clickhouseCluster: string | null
  /** PostgreSQL, which several nodes share; null: the registry is a file of the data folder. */
  readonly databaseUrl: string | null
  /** Redis, which several nodes share. */
  readonly redisUrl: string | null
  /** Whether calls with limits are refused or served while the limits cannot be shared. */
  readonly limitsWithoutRedis: 'refuse' | 'serve'
  readonly nodeName: string
  /** Whether this node may start with other addresses than the live nodes, while a change of them rolls. */
  readonly addressesMayDiffer: boolean
  /** For how long one of several nodes serves calls without PostgreSQL; null: without end. */
  readonly maxStalenessSeconds: number | null
  readonly masterKey: string | null
  readonly adminClientId: string | null
  readonly adminClientSecret: string | null
  readonly adminTenant: string
  readonly spoolSync: SpoolSync
  readonly spoolMaxBytes: number
  /** Port that serves only `/metrics`; null: the platform port serves it. */
  readonly metricsPort: number | null
  /** Bearer token that `/metrics` requires; null: none, and the platform port answers only loopback addresses. */
  readonly metricsToken: string | null
  readonly requestLog: 'off' | 'refused' | 'all'
  /** For a service without callers: documents may break them, and refusals name unknown paths. */
  readonly isDevelopment: boolean
  readonly riskRules: RiskRules
  readonly retentionDays: RetentionDays
  readonly allowPrivateAddresses: readonly ('webhooks' | 'federation' | 'backends' | 'clients')[]
  /** Networks of proxies whose `X-Forwarded-For` names the client. */
  readonly trustedProxies: readonly string[]
  /** Origins whose pages may use the platform API. */
  readonly corsOrigins: readonly string[]
  /** Clients can register themselves (RFC 7591). */
  readonly mcpDynamicRegistration: boolean
  /** Messages over MCP that call no operation, per credential. */
  readonly mcpMessagesPerMinute: number
  /** For how long a stopping service still serves, after `/readyz` has turned 503. */
  readonly stopDelaySeconds: number
  readonly logLevel: LogLevel
  /** Starts without the sample API. */
  readonly empty: boolean
}

/** All faults of the settings, one per line. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly lines: readonly string[]
  constructor(lines: readonly string[]) {
    super(lines.join('\n'))
    this.lines = lines
  }
}

/** Every setting. `app/settings/setting-descriptions.ts` describes each of them. */
export const SETTING_NAMES = [
  'GATEWAY_PORT',
  'PLATFORM_PORT',
  'RISK_PORT',
  'HOST',
  'GATEWAY_URL',
  'BASE_URL',
  'RISK_URL',
  'GATEWAY_THREADS',
  'DATA_DIR',
  'CLICKHOUSE_URL',
  'CLICKHOUSE_CLUSTER',
  'REDIS_URL',
  'DATABASE_URL',
  'LIMITS_WITHOUT_REDIS',
  'NODE_NAME',
  'MAX_STALENESS_SECONDS',
  'ADDRESSES_MAY_DIFFER',
  'MASTER_KEY',
  'ADMIN_CLIENT_ID',
  'ADMIN_CLIENT_SECRET',
  'ADMIN_TENANT',
  'SPOOL_SYNC',
  'SPOOL_MAX_BYTES',
  'METRICS_PORT',
  'METRICS_TOKEN',
  'REQUEST_LOG',
  'DEVELOPMENT',
  'RISK_THRESHOLDS',
  'RETENTION_LINE_ITEMS_DAYS',
  'RETENTION_SUMS_DAYS',
  'RETENTION_RISKS_DAYS',
  'RETENTION_REQUESTS_DAYS',
  'ALLOW_PRIVATE_ADDRESSES',
  'TLS_CERT_FILE',
  'TLS_KEY_FILE',
  'TLS_CERT_DIR',
  'TLS_CLIENT_CA_FILE',
  'HTTP_REDIRECT_PORT',
  'TRUSTED_PROXIES',
  'CORS_ORIGINS',
  'MCP_DYNAMIC_REGISTRATION',
  'MCP_MESSAGES_PER_MINUTE',
  'STOP_DELAY_SECONDS',
  'LOG_LEVEL',
] as const
export type SettingName = (typeof SETTING_NAMES)[number]
type Name = SettingName

const PRIVATE_KINDS = listOf('webhooks', 'federation', 'backends', 'clients')
const SPOOL_BYTES_DEFAULT = 8 * 1024 ** 3
/** Within the time that each part has to close. */
const STOP_DELAY_SECONDS_MAX = 30
/** A node reports once a second, and one that missed a few reports must not refuse calls. */
const STALENESS_SECONDS_MIN = 5
const STALENESS_SECONDS_MAX = 86_400

/** Throws `ConfigError`. A variable that is empty counts as unset. */
export function readConfig(argv: readonly string[], environment: Readonly<Record<string, string | undefined>>): Config {
  const wrong: string[] = []
  const { flags, empty } = readFlags(argv, SETTING_NAMES, wrong)

  function setting<T>(name: Name, fallback: T, read: Read<T>): T {
    const text = flags.get(name) ?? environment[name]
    if (text === undefined || text === '') return fallback
    const result = read(text)
    if ('value' in result) return result.value
    wrong.push(`${name} takes ${result.takes}${SECRET_SETTINGS.has(name) ? '' : notThis(text)}`)
    return fallback
  }

  const config: Config = {
    gatewayPort: setting('GATEWAY_PORT', 8080, port),
    platformPort: setting('PLATFORM_PORT', 8081, port),
    riskPort: setting<number | null>('RISK_PORT', null, port),
    host: setting('HOST', '127.0.0.1', host),
    gatewayUrl: setting<string | null>('GATEWAY_URL', null, publicAddress),
    baseUrl: setting<string | null>('BASE_URL', null, publicAddress),
    riskUrl: setting<string | null>('RISK_URL', null, publicAddress),
    gatewayThreads: setting('GATEWAY_THREADS', Math.max(1, availableParallelism() - 1), whole(1, 256)),
    dataDir: resolve(setting('DATA_DIR', './data', text(1, 4096))),
    clickhouseUrl: setting<string | null>('CLICKHOUSE_URL', null, address),
    clickhouseCluster: setting<string | null>('CLICKHOUSE_CLUSTER', null, cluster),
    ...readNode(setting),
    masterKey: setting<string | null>('MASTER_KEY', null, text(1, 1024)),
    adminClientId: setting<string | null>('ADMIN_CLIENT_ID', null, text(1, 128)),
    adminClientSecret: setting<string | null>('ADMIN_CLIENT_SECRET', null, text(16, 256)),
    adminTenant: setting('ADMIN_TENANT', 'default', tenant),
    spoolSync: setting('SPOOL_SYNC', 'second', oneOf('always', 'second', 'never')),
    spoolMaxBytes: setting('SPOOL_MAX_BYTES', SPOOL_BYTES_DEFAULT, whole(1024 ** 2, 2 ** 43)),
    metricsPort: setting<number | null>('METRICS_PORT', null, port),
    metricsToken: setting<string | null>('METRICS_TOKEN', null, token),
    requestLog: setting('REQUEST_LOG', 'refused', oneOf('off', 'refused', 'all')),
    isDevelopment: setting('DEVELOPMENT', 'off', oneOf('off', 'on')) === 'on',
    riskRules: setting('RISK_THRESHOLDS', DEFAULT_RISK_RULES, readThresholds),
    retentionDays: readRetention(setting, wrong),
    allowPrivateAddresses: setting('ALLOW_PRIVATE_ADDRESSES', [], PRIVATE_KINDS),
    ...readTls(setting, wrong),
    ...readTelemetry(environment, wrong),
    corsOrigins: setting('CORS_ORIGINS', [], origins),
    trustedProxies: setting('TRUSTED_PROXIES', [], networks),
    mcpMessagesPerMinute: setting('MCP_MESSAGES_PER_MINUTE', 60, whole(1, 60_000)),
    mcpDynamicRegistration: setting('MCP_DYNAMIC_REGISTRATION', 'off', oneOf('off', 'on')) === 'on',
    stopDelaySeconds: setting('STOP_DELAY_SECONDS', 0, whole(0, STOP_DELAY_SECONDS_MAX, ' of seconds')),
    logLevel: setting('LOG_LEVEL', 'info', oneOf(...LOG_LEVELS)),
    empty,
  }
  if ((config.adminClientId === null) !== (config.adminClientSecret === null)) {
    wrong.push('ADMIN_CLIENT_ID and ADMIN_CLIENT_SECRET go together')
  }
  if (config.clickhouseCluster !== null && config.clickhouseUrl === null && wrong.length === 0)
    wrong.push('CLICKHOUSE_CLUSTER names a cluster of the server of CLICKHOUSE_URL, which is not set')
  refuseHalfNodes(config, wrong)
  if (config.isDevelopment && config.databaseUrl !== null)
    wrong.push('DEVELOPMENT=on is for a single process without callers, not for several nodes (DATABASE_URL)')
  if (wrong.length > 0) throw new ConfigError(wrong)
  return config
}

type Setting = <T>(name: Name, fallback: T, read: Read<T>) => T

function readNode(
  setting: Setting,
): Pick<
  Config,
  'databaseUrl' | 'redisUrl' | 'limitsWithoutRedis' | 'nodeName' | 'maxStalenessSeconds' | 'addressesMayDiffer'
> {
  return {
    databaseUrl: setting<string | null>('DATABASE_URL', null, server('postgres', 'postgresql')),
    redisUrl: setting<string | null>('REDIS_URL', null, server('redis', 'rediss')),
    limitsWithoutRedis: setting('LIMITS_WITHOUT_REDIS', 'refuse', oneOf('refuse', 'serve')),
    nodeName: setting('NODE_NAME', hostname().slice(0, NODE_NAME_MAX), nodeName),
    maxStalenessSeconds: setting<number | null>(
      'MAX_STALENESS_SECONDS',
      null,
      whole(STALENESS_SECONDS_MIN, STALENESS_SECONDS_MAX, ' of seconds'),
    ),
    addressesMayDiffer: setting('ADDRESSES_MAY_DIFFER', 'off', oneOf('off', 'on')) === 'on',
  }
}

/** Nodes share a registry, limits and usage, and the key of their secrets: with a part of it they would disagree. */
function refuseHalfNodes(config: Config, wrong: string[]): void {
  const { databaseUrl, redisUrl, clickhouseUrl, masterKey, maxStalenessSeconds } = config
  if (databaseUrl === null && maxStalenessSeconds !== null)
    wrong.push('MAX_STALENESS_SECONDS is for several nodes: it needs DATABASE_URL')
  if (databaseUrl === null && redisUrl === null) return
  const needed = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    CLICKHOUSE_URL: clickhouseUrl,
    MASTER_KEY: masterKey,
  }
  const missing = Object.entries(needed).flatMap(([name, value]) => (value === null ? [name] : []))
  if (missing.length > 0 && wrong.length === 0) wrong.push(`several nodes also need ${missing.join(' and ')}`)
}

/** Settings whose values are never shown. */
export const SECRET_SETTINGS: ReadonlySet<SettingName> = new Set([
  'MASTER_KEY',
  'METRICS_TOKEN',
  'ADMIN_CLIENT_SECRET',
  'CLICKHOUSE_URL',
  'REDIS_URL',
  'DATABASE_URL',
])

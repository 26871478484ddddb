/**
 * Meaning and default of each setting, for `--help`.
 *
 * `docs/settings.md` lists the same settings; `test/unit/app/settings/information-flags.test.ts` compares the two
 * lists.
 */

import type { SettingName } from '../config.ts'

export interface SettingHelp {
  /** The default as it is printed. */
  readonly fallback: string
  readonly meaning: string
}

export const SETTINGS_HELP: Readonly<Record<SettingName, SettingHelp>> = {
  GATEWAY_PORT: { fallback: '8080', meaning: 'port of the gateway (0: any free port, also for the other ports)' },
  PLATFORM_PORT: { fallback: '8081', meaning: 'port of the platform API and the risk stream' },
  RISK_PORT: { fallback: 'unset', meaning: 'serves the risk paths on a port of their own as well' },
  HOST: { fallback: '127.0.0.1', meaning: 'bind address' },
  GATEWAY_URL: { fallback: 'derived', meaning: 'public address of the gateway, as tokens and links name it' },
  BASE_URL: { fallback: 'derived', meaning: 'public address of the platform API' },
  RISK_URL: { fallback: 'derived', meaning: 'public address of the risk stream' },
  GATEWAY_THREADS: { fallback: 'cores − 1', meaning: 'gateway threads that share the port' },
  DATA_DIR: { fallback: './data', meaning: 'folder of everything that is stored; one process per folder' },
  CLICKHOUSE_URL: { fallback: 'unset', meaning: 'a ClickHouse server instead of the embedded one' },
  CLICKHOUSE_CLUSTER: { fallback: 'unset', meaning: 'cluster of that server whose replicas hold usage' },
  REDIS_URL: { fallback: 'unset', meaning: 'Redis, for several nodes' },
  DATABASE_URL: { fallback: 'unset', meaning: 'PostgreSQL, for several nodes' },
  LIMITS_WITHOUT_REDIS: {
    fallback: 'refuse',
    meaning: 'calls with limits while Redis is away: refuse, or serve by the counts of this node',
  },
  NODE_NAME: { fallback: 'host name', meaning: 'name of this node among several' },
  MAX_STALENESS_SECONDS: {
    fallback: 'unset',
    meaning: 'seconds for which one of several nodes serves calls without PostgreSQL',
  },
  ADDRESSES_MAY_DIFFER: {
    fallback: 'off',
    meaning: 'on: starts with other addresses than the live nodes, for a rolling change',
  },
  MASTER_KEY: { fallback: 'made on first start', meaning: 'encrypts secrets at rest' },
  ADMIN_CLIENT_ID: {
    fallback: 'made, printed once',
    meaning: 'client id of an admin credential with all platform scopes',
  },
  ADMIN_CLIENT_SECRET: { fallback: 'made, printed once', meaning: 'its secret, 16 to 256 characters' },
  ADMIN_TENANT: { fallback: 'default', meaning: 'tenant of the admin credential' },
  SPOOL_SYNC: { fallback: 'second', meaning: 'when records are synced to disk: always, second or never' },
  SPOOL_MAX_BYTES: { fallback: '8 GiB', meaning: 'size of the spool at which calls get 503' },
  REQUEST_LOG: { fallback: 'refused', meaning: 'calls that GET /v1/requests shows: off, refused or all' },
  DEVELOPMENT: {
    fallback: 'off',
    meaning: 'on, for a service without callers: documents may break them, and refusals name unknown paths',
  },
  METRICS_TOKEN: {
    fallback: 'unset',
    meaning: 'bearer token that GET /metrics requires; unset: only loopback is answered',
  },
  METRICS_PORT: { fallback: 'unset', meaning: 'serves /metrics on a port of its own instead' },
  RISK_THRESHOLDS: { fallback: 'docs/risks.md', meaning: 'thresholds by type of risk, as JSON' },
  RETENTION_LINE_ITEMS_DAYS: { fallback: '800', meaning: 'days for which line items are kept, 31 to 3660' },
  RETENTION_SUMS_DAYS: {
    fallback: '3660',
    meaning: 'days for which hourly, daily and monthly sums are kept, 31 to 3660; at least those of line items',
  },
  RETENTION_RISKS_DAYS: {
    fallback: '30',
    meaning: 'days for which risk events and cleared risks are kept, 1 to 3660',
  },
  RETENTION_REQUESTS_DAYS: { fallback: '7', meaning: 'days for which calls of REQUEST_LOG are kept, 1 to 400' },
  ALLOW_PRIVATE_ADDRESSES: {
    fallback: 'unset',
    meaning: 'list of webhooks, federation, backends, clients: lets them have private addresses',
  },
  TLS_CERT_FILE: {
    fallback: 'unset',
    meaning: 'certificate and its issuers, in PEM: TLS on the ports of the gateway, the platform and risks',
  },
  TLS_KEY_FILE: { fallback: 'unset', meaning: 'its key, in PEM without a passphrase' },
  TLS_CERT_DIR: {
    fallback: 'unset',
    meaning: 'folder of further certificates, chosen by the host that a client names',
  },
  TLS_CLIENT_CA_FILE: {
    fallback: 'unset',
    meaning: 'authorities, in PEM, whose clients may present a certificate on the port of the gateway',
  },
  HTTP_REDIRECT_PORT: { fallback: 'unset', meaning: 'port that redirects HTTP to HTTPS' },
  TRUSTED_PROXIES: {
    fallback: 'unset',
    meaning: 'list of networks of proxies whose X-Forwarded-For or PROXY protocol names the client, such as 10.0.0.0/8',
  },
  CORS_ORIGINS: {
    fallback: 'unset',
    meaning: 'list of origins whose pages may use the platform API, such as https://app.example',
  },
  MCP_DYNAMIC_REGISTRATION: {
    fallback: 'off',
    meaning: 'on lets clients register themselves, for people who sign in: off or on',
  },
  MCP_MESSAGES_PER_MINUTE: {
    fallback: '60',
    meaning: 'messages over MCP that call no operation, per credential',
  },
  STOP_DELAY_SECONDS: {
    fallback: '0',
    meaning: 'seconds for which a stopping service still serves while /readyz is 503, 0 to 30',
  },
  LOG_LEVEL: { fallback: 'info', meaning: 'level of the JSON log on stderr' },
}

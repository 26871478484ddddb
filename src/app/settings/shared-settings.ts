/** The settings that several nodes should have alike, as keyed hashes: they say whether two nodes agree, and no value. */

import type { Config, SettingName } from '../config.ts'
import type { Addresses } from './addresses.ts'
import { settingText } from './settings-in-force.ts'

/** Behaviour depends on the node that answers if one of these differs. */
const SHARED = [
  'GATEWAY_URL',
  'BASE_URL',
  'RISK_URL',
  'ADMIN_TENANT',
  'CLICKHOUSE_URL',
  'REDIS_URL',
  'LIMITS_WITHOUT_REDIS',
  'MAX_STALENESS_SECONDS',
  'REQUEST_LOG',
  'RISK_THRESHOLDS',
  'RETENTION_LINE_ITEMS_DAYS',
  'RETENTION_SUMS_DAYS',
  'RETENTION_RISKS_DAYS',
  'RETENTION_REQUESTS_DAYS',
  'ALLOW_PRIVATE_ADDRESSES',
  'TRUSTED_PROXIES',
  'CORS_ORIGINS',
  'MCP_DYNAMIC_REGISTRATION',
] as const satisfies readonly SettingName[]

/** Enough that no two values have one hash. */
const HASH_CHARACTERS = 24

/** `hash` depends on the master key, so that a reader of the database can find no value by trying. */
export function hashSharedSettings(
  config: Config,
  addresses: Addresses,
  hash: (text: string) => string,
): Readonly<Record<string, string>> {
  // In one order: these settings are sets.
  const { allowPrivateAddresses, corsOrigins } = config
  const compared = {
    ...config,
    allowPrivateAddresses: allowPrivateAddresses.toSorted(),
    corsOrigins: corsOrigins.toSorted(),
  }
  const entries = SHARED.map((name) => [name, settingText(name, compared, addresses)] as const)
  const hashed = [['MASTER_KEY', ''] as const, ...entries].map(([name, value]) => {
    return [name, hash(JSON.stringify(['shared setting', name, value])).slice(0, HASH_CHARACTERS)]
  })
  return Object.fromEntries(hashed) as Record<string, string>
}

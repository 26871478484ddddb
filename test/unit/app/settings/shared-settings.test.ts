import { describe, expect, it } from 'vitest'
import { readConfig } from '../../../../src/app/config.ts'
import { createVault } from '../../../../src/foundation/runtime/vault.ts'
import { hashSharedSettings } from '../../../../src/app/settings/shared-settings.ts'

const ADDRESSES = {
  ...{ gatewayPort: 9000, platformPort: 8081, riskPort: null, metricsPort: null, redirectPort: null },
  ...{ gatewayUrl: 'http://gateway.example', baseUrl: 'http://api.example', riskUrl: 'http://api.example' },
}
const { keyedHash } = createVault(Buffer.alloc(32, 1))

function hashesOf(env: Readonly<Record<string, string>> = {}, addresses = ADDRESSES, hash = keyedHash) {
  return hashSharedSettings(readConfig([], env), addresses, hash)
}

/** Names of the settings whose hashes differ from those without a setting. */
const changedBy = (...given: Parameters<typeof hashesOf>): readonly string[] => {
  const [before, after] = [hashesOf(), hashesOf(...given)]
  return Object.keys(after).filter((name) => after[name] !== before[name])
}

describe('the hashes of the settings that nodes share', () => {
  it.each([
    ['REQUEST_LOG', 'all'],
    ['RISK_THRESHOLDS', '{"AuthFailure401":{"warningFrom":4}}'],
    ['RETENTION_REQUESTS_DAYS', '8'],
    ['ALLOW_PRIVATE_ADDRESSES', 'webhooks'],
    ['TRUSTED_PROXIES', '10.0.0.0/8'],
    ['CORS_ORIGINS', 'https://app.example'],
    ['MCP_DYNAMIC_REGISTRATION', 'on'],
    ['CLICKHOUSE_URL', 'http://user:pw@clickhouse.example'],
    ['LIMITS_WITHOUT_REDIS', 'serve'],
    ['ADMIN_TENANT', 'acme'],
  ])('differ with %s, and in nothing else', (name, value) => {
    expect(changedBy({ [name]: value })).toEqual([name])
  })

  it('differ with the addresses in force, be they set or derived', () => {
    expect(changedBy({}, { ...ADDRESSES, baseUrl: 'http://other.example' })).toEqual(['BASE_URL'])
    expect(changedBy({ GATEWAY_URL: 'http://gateway.example' })).toEqual([])
  })

  it('are alike for settings that may differ, and for another order of a set', () => {
    expect(changedBy({ NODE_NAME: 'b', LOG_LEVEL: 'warn', GATEWAY_THREADS: '7', ADDRESSES_MAY_DIFFER: 'on' })).toEqual(
      [],
    )
    const sets = ['webhooks,clients', 'clients,webhooks'].map((value) => hashesOf({ ALLOW_PRIVATE_ADDRESSES: value }))
    expect(sets[0]).toEqual(sets[1])
    const origins = ['https://a.example,https://b.example', 'https://B.example:443,https://a.example']
    const [one, other] = origins.map((value) => hashesOf({ CORS_ORIGINS: value }))
    expect(one).toEqual(other)
  })

  it('contain no value, and all differ with another master key', () => {
    const hashes = hashesOf({ CLICKHOUSE_URL: 'http://user:pw-0123@clickhouse.example', REQUEST_LOG: 'all' })
    for (const hash of Object.values(hashes)) expect(hash).toMatch(/^[0-9a-f]{24}$/)
    expect(new Set(Object.values(hashes)).size).toBe(Object.keys(hashes).length)
    const other = createVault(Buffer.alloc(32, 2)).keyedHash
    expect(changedBy({}, ADDRESSES, other)).toEqual(Object.keys(hashes))
    expect(Object.keys(hashes)).toContain('MASTER_KEY')
  })
})

import { describe, expect, it } from 'vitest'
import { readConfig, SETTING_NAMES } from '../../../../src/app/config.ts'
import { settingsInForce } from '../../../../src/app/settings/settings-in-force.ts'

const ADDRESSES = {
  ...{ gatewayPort: 9000, platformPort: 8081, riskPort: null, metricsPort: null, redirectPort: null },
  ...{ gatewayUrl: 'http://127.0.0.1:9000', baseUrl: 'https://api.example', riskUrl: 'https://api.example' },
}

const inForce = (env: Readonly<Record<string, string>>) =>
  new Map(settingsInForce(readConfig([], env), ADDRESSES).map((each) => [each.name, each]))

describe('the settings in force', () => {
  it('are all settings, with what they are and whether that is the default', () => {
    const found = inForce({ BASE_URL: 'https://api.example', REQUEST_LOG: 'all', RETENTION_RISKS_DAYS: '30' })
    expect([...found.keys()]).toEqual([...SETTING_NAMES])
    expect(found.get('GATEWAY_PORT')).toMatchObject({ inForce: '9000', isDefault: false })
    expect(found.get('PLATFORM_PORT')).toMatchObject({ inForce: '8081', isDefault: true })
    expect(found.get('BASE_URL')).toMatchObject({ inForce: 'https://api.example', isDefault: false })
    expect(found.get('GATEWAY_URL')).toMatchObject({ inForce: 'http://127.0.0.1:9000', isDefault: true })
    expect(found.get('REQUEST_LOG')).toMatchObject({ inForce: 'all', isDefault: false, fallback: 'refused' })
    expect(found.get('RETENTION_RISKS_DAYS')).toMatchObject({ inForce: '30', isDefault: true })
    expect(found.get('RISK_THRESHOLDS')?.isDefault).toBe(true)
  })

  it('never have a secret, nor a URL with a password', () => {
    const secrets = {
      ...{ MASTER_KEY: 'key-0123', METRICS_TOKEN: 'tok-0123456789abcdef', ADMIN_CLIENT_ID: 'admin' },
      ...{ ADMIN_CLIENT_SECRET: 'sec-0123456789abcdef', CLICKHOUSE_URL: 'https://user:pw-0123@db.example' },
      ...{ DATABASE_URL: 'postgres://user:pw-0123@db/x', REDIS_URL: 'redis://user:pw-0123@cache' },
    }
    const found = inForce(secrets)
    expect(JSON.stringify([...found.values()])).not.toMatch(/key-0123|tok-0123|sec-0123|pw-0123/)
    for (const name of [
      'MASTER_KEY',
      'METRICS_TOKEN',
      'ADMIN_CLIENT_SECRET',
      'CLICKHOUSE_URL',
      'DATABASE_URL',
      'REDIS_URL',
    ] as const)
      expect(found.get(name)).toMatchObject({ inForce: null, isDefault: false, isSecret: true })
    expect(inForce({}).get('MASTER_KEY')).toMatchObject({ inForce: null, isDefault: true })
  })
})

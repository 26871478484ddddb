import { describe, expect, it } from 'vitest'
import { ConfigError, readConfig } from '../../../src/app/config.ts'

/** Lines of the error; an empty list if the settings are taken. */
function faults(argv: readonly string[], environment: Record<string, string> = {}): readonly string[] {
  try {
    readConfig(argv, environment)
    return []
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    return cause.message.split('\n')
  }
}

describe('flags', () => {
  it.each([
    ['apart from its value', ['--gateway-port', '9000']],
    ['joined with its value', ['--gateway-port=9000']],
    ['twice: the last one wins', ['--gateway-port=1', '--gateway-port', '9000']],
  ])('set a setting, written %s', (_, argv) => {
    expect(readConfig(argv, { GATEWAY_PORT: '7000' }).gatewayPort).toBe(9000)
  })

  it('keep an equals sign and a single dash within a value', () => {
    expect(readConfig(['--data-dir=a=b'], {}).dataDir).toMatch(/\/a=b$/)
    expect(readConfig(['--data-dir', '-x'], {}).dataDir).toMatch(/\/-x$/)
  })

  it('start with an empty registry for --empty', () => {
    expect(readConfig(['--empty'], {}).empty).toBe(true)
    expect(readConfig([], {}).empty).toBe(false)
  })

  it.each([
    [
      ['--gatway-port', '9000'],
      ['--gatway-port is not a flag; --help lists them', 'argument 2 is not a flag'],
    ],
    [['start'], ['argument 1 is not a flag']],
    [
      ['-p', '9000'],
      ['-p is not a flag', 'argument 2 is not a flag'],
    ],
    [
      ['--', '--empty'],
      ['-- is not a flag', 'argument 2 is not a flag'],
    ],
    [['--empty=yes'], ['--empty is not a flag']],
    [['--gateway-port'], ['--gateway-port takes a value']],
    [['--gateway-port', '--empty'], ['--gateway-port takes a value']],
    [
      ['--__proto__', 'x'],
      ['--__proto__ is not a flag', 'argument 2 is not a flag'],
    ],
  ])('that are not understood are refused, all at once: %j', (argv, expected) => {
    const lines = faults(argv)
    for (const text of expected) expect(lines.join('\n')).toContain(text)
  })

  it.each([
    [['--admin-secret=hunter2-hunter2']],
    [['--admin-secret', 'hunter2']],
    [['--database-urll', 'postgres://user:hunter2@db/x']],
    [['--postgres://user:hunter2@db/x']],
    [['DATABASE_URL=postgres://user:hunter2@db/x']],
  ])('never repeat what no flag takes, which may be a secret: %j', (argv) => {
    expect(faults(argv)).not.toEqual([])
    expect(faults(argv).join('\n')).not.toContain('hunter2')
  })
})

describe('retention', () => {
  it('is in days, with a default for each setting', () => {
    expect(readConfig([], {}).retentionDays).toEqual({ lineItems: 800, sums: 3_660, risks: 30, requests: 7 })
    const { retentionDays } = readConfig(['--retention-line-items-days', '31'], { RETENTION_REQUESTS_DAYS: '1' })
    expect(retentionDays).toMatchObject({ lineItems: 31, requests: 1 })
  })

  it.each([
    ['RETENTION_LINE_ITEMS_DAYS', '30', '31 to 3660'],
    ['RETENTION_SUMS_DAYS', '3661', '31 to 3660'],
    ['RETENTION_SUMS_DAYS', '30', '31 to 3660'],
    ['RETENTION_RISKS_DAYS', '0', '1 to 3660'],
    ['RETENTION_REQUESTS_DAYS', '7d', '1 to 400'],
    ['RETENTION_REQUESTS_DAYS', '-7', '1 to 400'],
    ['RETENTION_RISKS_DAYS', '1.5', '1 to 3660'],
  ])('refuses %s=%s with its range', (name, value, range) => {
    expect(faults([], { [name]: value })).toEqual([
      `${name} takes a whole number of days from ${range}, not "${value}"`,
    ])
  })

  it('refuses sums that are kept for less time than line items', () => {
    const line = 'RETENTION_SUMS_DAYS (799) is below RETENTION_LINE_ITEMS_DAYS (800)'
    expect(faults([], { RETENTION_SUMS_DAYS: '799' })).toEqual([line])
    expect(faults([], { RETENTION_SUMS_DAYS: '799', RETENTION_LINE_ITEMS_DAYS: '799' })).toEqual([])
  })
})

describe('several nodes', () => {
  const all = {
    DATABASE_URL: 'postgres://user:secret@db/x',
    REDIS_URL: 'redis://:secret@cache',
    CLICKHOUSE_URL: 'http://clickhouse',
    MASTER_KEY: 'a key',
  }

  it('have all their systems, one key, and names', () => {
    const config = readConfig([], { ...all, NODE_NAME: 'a.example' })
    expect(config).toMatchObject({ databaseUrl: all.DATABASE_URL, redisUrl: all.REDIS_URL, nodeName: 'a.example' })
    expect(readConfig([], {})).toMatchObject({ databaseUrl: null, redisUrl: null, maxStalenessSeconds: null })
    expect(readConfig([], { ...all, MAX_STALENESS_SECONDS: '30' }).maxStalenessSeconds).toBe(30)
  })

  it('start with a setting that an earlier version needed', () => {
    expect(readConfig([], { ...all, PREVIEW: 'nodes' })).toEqual(readConfig([], all))
    expect(readConfig([], { PREVIEW: 'nodes' }).databaseUrl).toBeNull()
  })

  it('alone can lose the registry', () => {
    expect(faults([], { MAX_STALENESS_SECONDS: '30' })).toEqual([
      'MAX_STALENESS_SECONDS is for several nodes: it needs DATABASE_URL',
    ])
  })

  it.each([
    ['DATABASE_URL', 'several nodes also need DATABASE_URL'],
    ['REDIS_URL', 'several nodes also need REDIS_URL'],
    ['CLICKHOUSE_URL', 'several nodes also need CLICKHOUSE_URL'],
    ['MASTER_KEY', 'several nodes also need MASTER_KEY'],
  ])('are refused without %s', (name, line) => {
    expect(faults([], { ...all, [name]: '' })).toEqual([line])
  })

  it.each([
    ['DATABASE_URL', 'mysql://user:secret@db/x'],
    ['DATABASE_URL', 'no secret URL'],
    ['REDIS_URL', 'http://:secret@cache'],
    ['NODE_NAME', 'a node'],
    ['NODE_NAME', 'n'.repeat(64)],
    ['MAX_STALENESS_SECONDS', '4'],
    ['MAX_STALENESS_SECONDS', '86401'],
  ])('are refused for %s=%s, without a secret', (name, value) => {
    const lines = faults([], { ...all, [name]: value })
    expect(lines[0]).toMatch(new RegExp(`^${name} takes `))
    expect(lines.join()).not.toContain('secret')
  })
})

describe('the cluster of ClickHouse', () => {
  const server = { CLICKHOUSE_URL: 'http://store:8123' }

  it('is a name, none by default', () => {
    expect(readConfig([], server).clickhouseCluster).toBeNull()
    expect(readConfig([], { ...server, CLICKHOUSE_CLUSTER: 'tollgate_2.eu' }).clickhouseCluster).toBe('tollgate_2.eu')
  })

  it.each(["a' SETTINGS x = 1 --", 'a b', 'x'.repeat(101), 'ünïcode'])(
    'is not %s, which is part of statements',
    (name) => {
      expect(faults([], { ...server, CLICKHOUSE_CLUSTER: name })[0]).toMatch(/^CLICKHOUSE_CLUSTER takes up to 100 of/)
    },
  )

  it('needs a server', () => {
    expect(faults([], { CLICKHOUSE_CLUSTER: 'tollgate' })).toEqual([
      'CLICKHOUSE_CLUSTER names a cluster of the server of CLICKHOUSE_URL, which is not set',
    ])
  })
})

describe('the networks of trusted proxies', () => {
  it('are none by default, and a list otherwise', () => {
    expect(readConfig([], {}).trustedProxies).toEqual([])
    const TRUSTED_PROXIES = '10.0.0.0/8, 192.0.2.7,fd00::/8'
    expect(readConfig([], { TRUSTED_PROXIES }).trustedProxies).toEqual(['10.0.0.0/8', '192.0.2.7', 'fd00::/8'])
  })

  it.each(['0.0.0.0/0', '::/0', '10.0.0.0/8,', 'proxy.example', 'all', '10.0.0.1 10.0.0.2', '10.0.0.1,'.repeat(70)])(
    'are not taken from %.30s',
    (text) => expect(faults(['--trusted-proxies', text]).join()).toContain('TRUSTED_PROXIES takes a list of up to 64'),
  )
})

describe('the origins whose pages may use the platform API', () => {
  it('are none by default, and a list otherwise', () => {
    expect(readConfig([], {}).corsOrigins).toEqual([])
    const CORS_ORIGINS = 'https://App.example, http://localhost:3000,https://app.example:443'
    expect(readConfig([], { CORS_ORIGINS }).corsOrigins).toEqual(['https://app.example', 'http://localhost:3000'])
  })

  it.each([
    '*',
    'null',
    'https://*.example',
    'https://app.example/',
    'app.example',
    'https://a.example,',
    'https://a,'.repeat(101),
  ])('are not taken from %.30s', (text) =>
    expect(faults(['--cors-origins', text]).join()).toContain('CORS_ORIGINS takes a list of up to 100'),
  )
})

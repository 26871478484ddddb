import { expect, it } from 'vitest'
import { ConfigError, readConfig, SETTING_NAMES } from '../../../../src/app/config.ts'
import { notThis } from '../../../../src/app/settings/quote-values.ts'

const PEM = '-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----\n'
/** Values of secret settings, as a slip puts them into others. */
const MISPLACED = [
  'postgres://user:hunter2@db:5432/x',
  'postgres//user:hunter2@db/x',
  'postgres:user:hunter2@db/x',
  'postgres://user:1/hunter2@db/x',
  'https://user:hunter2@db.example:port',
  'https://user:hunter2@db.example',
  'https://db.example?password=hunter2',
  'password=hunter2',
  `${PEM}${'x'.repeat(4_096)}`,
  PEM,
  PEM.replaceAll('\n', String.raw`\n`),
  'hunter2+q8Zk/5Vw0aYx2Bn7==',
  'hunter2-hunter2-hunter2',
  `hunter2 ${'of many words '.repeat(10)}@db`,
]

function messageOf(environment: Readonly<Record<string, string>>): string {
  try {
    readConfig([], environment)
    return ''
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause
    return cause.message
  }
}

it.each(SETTING_NAMES)('%s is refused without a word of what may be a secret', (name) => {
  for (const value of MISPLACED) expect(messageOf({ [name]: value })).not.toContain('hunter2')
})

it.each(['GATEWAY_URL', 'BASE_URL', 'RISK_URL'])('%s is shown, so that it has no password', (name) => {
  expect(messageOf({ [name]: 'https://user:hunter2@db.example' })).toBe(
    `${name} takes an http or https address without user and password`,
  )
  expect(messageOf({ [name]: 'https://db.example/path/' })).toBe('')
})

it.each(['TLS_CERT_FILE', 'TLS_KEY_FILE', 'TLS_CERT_DIR', 'TLS_CLIENT_CA_FILE'])('%s refuses a key', (name) => {
  // Whole, in one line, and the part without its first line.
  for (const key of [PEM, PEM.replaceAll('\n', ' '), 'MIIB\nhunter2'])
    expect(messageOf({ [name]: key })).toContain(`${name} takes a path, not the content of a file`)
})

it.each(['CLICKHOUSE_URL', 'DATABASE_URL', 'REDIS_URL'])('%s refuses a password that ends up in the path', (name) => {
  const scheme = { CLICKHOUSE_URL: 'http', DATABASE_URL: 'postgres', REDIS_URL: 'redis' }[name]!
  expect(messageOf({ [name]: `${scheme}://user:1/hunter2@db` })).toContain(`${name} takes `)
  expect(messageOf({ [name]: `${scheme}://user:1%2Fhunter2@db` })).not.toContain(`${name} takes `)
})

it.each([
  ['DATABASE_URL', 'postgres:hunter2'],
  ['REDIS_URL', 'redis:/hunter2:6379'],
])('%s refuses a URL without //', (name, url) => {
  expect(messageOf({ [name]: url })).toContain(`${name} takes a URL of the form`)
})

it('quotes values that are no secrets', () => {
  for (const value of [
    '8O80',
    'localhst',
    'http:/localhost:8080',
    'a phrase of four words',
    'gateway.internal.example',
  ])
    expect(notThis(value)).toBe(`, not "${value}"`)
})

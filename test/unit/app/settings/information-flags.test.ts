/** Compares the settings in `--help` and docs/settings.md with those that the service reads. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { SETTING_NAMES } from '../../../../src/app/config.ts'
import { flagOf } from '../../../../src/app/settings/flags.ts'
import { greeting } from '../../../../src/app/onboarding/banner.ts'
import { firstSteps } from '../../../../src/app/onboarding/first-steps.ts'
import { information } from '../../../../src/app/settings/information-flags.ts'

const ROOT = join(import.meta.dirname, '../../../..')
const SETTINGS = readFileSync(join(ROOT, 'docs/settings.md'), 'utf8')
const PLACES = { gatewayUrl: 'http://g', baseUrl: 'http://b', riskUrl: 'http://r', api: 'a-v1', path: '/x' }

describe('--help', () => {
  it('lists every setting, with its flag and its default, and every other flag', () => {
    const text = information(['--help'], {}) ?? ''
    for (const name of SETTING_NAMES) expect(text).toMatch(new RegExp(`^  ${flagOf(name)} +\\S.* \\[.+\\]$`, 'm'))
    for (const flag of ['--empty', '--help', '--version', '--help-first-steps']) expect(text).toContain(`  ${flag} `)
    expect(information(['--gateway-port', 'x', '-h'], {})).toBe(text)
  })

  it('lists the same settings as docs/settings.md', () => {
    const table = SETTINGS.split('\n').filter((line) => line.startsWith('| `'))
    const named = table.flatMap((line) =>
      [...(line.split('|')[1] ?? '').matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name),
    )
    expect(named.toSorted()).toEqual(SETTING_NAMES.toSorted())
  })
})

describe('--version', () => {
  it('prints the version of the package', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
    expect(information(['--version'], {})).toBe(`${version}\n`)
  })
})

describe('--help-first-steps', () => {
  it('prints the commands for the configured addresses, with placeholders and without secrets', () => {
    const text = information(['--help-first-steps', '--gateway-port', '9000'], {
      BASE_URL: 'https://api.example',
      ADMIN_CLIENT_ID: 'operator',
      ADMIN_CLIENT_SECRET: 'a-secret-of-the-operator',
    })
    expect(text).toContain('http://127.0.0.1:9000/payments-v1/oauth2/v2/token')
    expect(text).toContain('https://api.example/v1/events/subscribe')
    expect(text).toContain('YOUR_ADMIN_CLIENT_SECRET')
    expect(text).not.toContain('a-secret-of-the-operator')
  })
})

describe('a credential with shell characters', () => {
  it('is quoted and encoded in the commands', () => {
    const admin = { clientId: 'plain-id_1', clientSecret: `it's $HOME & "more"` }
    const [line] = firstSteps({ ...PLACES, admin, client: null })
    expect(line).toContain(`-d client_id=plain-id_1 --data-urlencode 'client_secret=it'\\''s $HOME & "more"'`)
  })
})

describe('a secret that the operator has set', () => {
  it('is named after its variable in the banner, and taken from it by the commands', () => {
    const admin = { clientId: 'operator', clientSecret: null }
    const sample = { api: 'a-v1', path: '/x', clientId: 'sample', clientSecret: 'secret-of-the-sample' }
    const text = greeting({ ...PLACES, dataDir: 'd', threads: 1, startedInMs: 1, admin, ownerUrl: null, sample }, false)
    expect(text).toMatch(
      /Admin credential:\n {4}client id {6}operator\n {4}client secret {2}as set by ADMIN_CLIENT_SECRET\n/,
    )
    expect(text).toContain('-d client_id=operator --data-urlencode "client_secret=$ADMIN_CLIENT_SECRET"')
  })
})

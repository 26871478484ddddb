import { describe, expect, it } from 'vitest'
import { SETTING_NAMES } from '../../../../src/app/config.ts'
import { unknownVariables } from '../../../../src/app/settings/unknown-variables.ts'

const found = (...names: string[]) =>
  unknownVariables(Object.fromEntries(names.map((name) => [name, 'a-value'])), SETTING_NAMES)

describe('an environment variable', () => {
  it.each([
    ['GATEWAY_PROT', 'GATEWAY_PORT'],
    ['DATADIR', 'DATA_DIR'],
    ['BASE_URI', 'BASE_URL'],
    ['ADMIN_CLIENT_SECERT', 'ADMIN_CLIENT_SECRET'],
    ['gateway_port', 'GATEWAY_PORT'],
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['TOLLGATE_GATEWAY_PORT', 'GATEWAY_PORT'],
    ['TOLLGATE_CLIENTID', 'TOLLGATE_CLIENT_ID'],
  ])('named %s is unknown, and the nearest name is %s', (name, nearest) => {
    expect(found(name)).toEqual([{ name, nearest }])
  })

  it('is known if it is a setting or belongs to the command line tool', () => {
    expect(
      found(...SETTING_NAMES, 'TOLLGATE_URL', 'TOLLGATE_TOKEN', 'TOLLGATE_CLIENT_ID', 'TOLLGATE_CLIENT_SECRET'),
    ).toEqual([])
  })

  it('is ignored if it belongs to another program', () => {
    const names = [
      'HOME',
      'HOSTNAME',
      'PATH',
      'PORT',
      'POST',
      'GHOST',
      'LANG',
      'LOGNAME',
      'CACHE_DIR',
      'CLIENT_ID',
      'RISK',
    ]
    expect(found(...names)).toEqual([])
  })

  it('is ignored if it is empty', () => {
    expect(unknownVariables({ GATEWAY_PROT: '' }, SETTING_NAMES)).toEqual([])
  })
})

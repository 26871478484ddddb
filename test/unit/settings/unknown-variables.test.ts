import { describe, expect, it } from 'vitest'
import { SETTING_NAMES } from '../../../src/config.ts'
import { unknownVariables } from '../../../src/settings/unknown-variables.ts'

const found = (...names: string[]) =>
  unknownVariables(Object.fromEntries(names.map((name) => [name, 'a-value'])), SETTING_NAMES)

describe('first use: a variable of the environment', () => {
  it.each([
    ['GATEWAY_PROT', 'GATEWAY_PORT'],
    ['DATADIR', 'DATA_DIR'],
    ['BASE_URI', 'BASE_URL'],
    ['ADMIN_CLIENT_SECERT', 'ADMIN_CLIENT_SECRET'],
    ['gateway_port', 'GATEWAY_PORT'],
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['TOLLGATE_GATEWAY_PORT', 'GATEWAY_PORT'],
    ['TOLLGATE_CLIENTID', 'TOLLGATE_CLIENT_ID'],
  ])('that is named %s is unknown, and the nearest name is %s', (name, nearest) => {
    expect(found(name)).toEqual([{ name, nearest }])
  })

  it('that is a setting, or one of the client, is known', () => {
    expect(
      found(...SETTING_NAMES, 'TOLLGATE_URL', 'TOLLGATE_TOKEN', 'TOLLGATE_CLIENT_ID', 'TOLLGATE_CLIENT_SECRET'),
    ).toEqual([])
  })

  it('of another program is left alone', () => {
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

  it('that is empty is as good as unset', () => {
    expect(unknownVariables({ GATEWAY_PROT: '' }, SETTING_NAMES)).toEqual([])
  })
})

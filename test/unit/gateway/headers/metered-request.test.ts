import { expect, it } from 'vitest'
import { toMeteredHeaders } from '../../../../src/gateway/headers/metered-request.ts'
import type { UnitsPlan } from '../../../../src/boundary/plan/route-plan.ts'

const BY_EVENT: UnitsPlan = { per: 'event', unitsMicro: 1 }
const BY_HEADER: UnitsPlan = { per: 'response', unitsMicro: 1, header: 'x-usage-units', maxMicro: 1 }

it.each(['Accept-Encoding', 'accept-encoding', 'Accept_Encoding', 'ACCEPT_encoding'])(
  'asks for events without a coding, whatever the client asks for in %s',
  (name) => {
    const headers = ['Accept', '*/*', name, 'gzip', name, 'br', 'X-Accept-Encoding', 'a']
    const expected = ['Accept', '*/*', 'X-Accept-Encoding', 'a', 'Accept-Encoding', 'identity']
    expect(toMeteredHeaders(headers, BY_EVENT)).toEqual(expected)
  },
)

it.each(['X-Usage-Units', 'x-usage-units', 'X_Usage_Units', 'x-usage_units'])(
  'drops units that the client states in %s, which a backend might repeat',
  (name) => {
    const headers = [name, '0', 'Accept-Encoding', 'gzip', 'X-Usage', '1']
    expect(toMeteredHeaders(headers, BY_HEADER)).toEqual(['Accept-Encoding', 'gzip', 'X-Usage', '1'])
  },
)

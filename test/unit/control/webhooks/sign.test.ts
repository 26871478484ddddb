/** Compared with the example of the specification and with an independent implementation. */

import { Webhook } from 'standardwebhooks'
import { describe, expect, it } from 'vitest'
import { makeSecret, checkSecret } from '../../../../src/control/webhooks/webhook-secret.ts'
import { signedHeaders } from '../../../../src/control/webhooks/sign.ts'
import { randomBytes } from 'node:crypto'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const BODY = '{"test": 2432232314}'

describe('a signature', () => {
  it('equals that of the published example', () => {
    expect(signedHeaders('msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330, BODY, [SECRET])).toEqual({
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    })
  })

  it('is verified by standardwebhooks with each of two secrets, and refused if any input differs', () => {
    const [first, second, other] = [makeSecret(randomBytes), makeSecret(randomBytes), makeSecret(randomBytes)]
    const now = Math.floor(Date.now() / 1_000)
    const headers = signedHeaders('evt_1', now, BODY, [first, second])
    for (const secret of [first, second]) expect(new Webhook(secret).verify(BODY, headers)).toEqual(JSON.parse(BODY))
    expect(() => new Webhook(other).verify(BODY, headers)).toThrow()
    expect(() => new Webhook(first).verify(BODY.replace('2432', '2433'), headers)).toThrow()
    expect(() => new Webhook(first).verify(BODY, { ...headers, 'webhook-id': 'evt_2' })).toThrow()
    const old = signedHeaders('evt_1', now - 3_600, BODY, [first])
    expect(() => new Webhook(first).verify(BODY, old)).toThrow()
  })
})

describe('a webhook secret', () => {
  it.each([24, 32, 64])('of %d bytes is accepted', (bytes) => {
    expect(() => checkSecret(`whsec_${randomBytes(bytes).toString('base64')}`)).not.toThrow()
  })

  it.each([
    ['that is too short', `whsec_${randomBytes(23).toString('base64')}`],
    ['that is too long', `whsec_${randomBytes(65).toString('base64')}`],
    ['without its prefix', randomBytes(32).toString('base64')],
    ['of another alphabet', `whsec_${'-_'.repeat(22)}`],
  ])('that is %s is refused', (_, secret) => expect(() => checkSecret(secret)).toThrow('does not match its schema'))
})

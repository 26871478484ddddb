/** Pages of other origins call an API: responses, refusals, and OPTIONS that is an ordinary call. */

import { describe, expect, it } from 'vitest'
import { ALLOWED, APP, EVIL, openCorsApi, type CorsApiOptions } from '../../fixtures/cors-api.ts'

describe('OPTIONS that is no preflight request', () => {
  it.each([[['Origin: https://app.example']], [['Access-Control-Request-Method: GET']], [[]]])(
    'is an ordinary call: %j',
    async (headers) => {
      const { send, forwarded, gateway } = await openCorsApi()
      expect((await send('OPTIONS /things-v1/items HTTP/1.1', headers)).status).toBe(405)
      expect((await send('OPTIONS /things-v1/options HTTP/1.1', headers)).status).toBe(200)
      expect(forwarded).toHaveLength(1)
      expect(await gateway.recorded(2)).toHaveLength(2)
    },
  )

  it('reaches the backend with both headers if the API has no setting', async () => {
    const { preflight, forwarded } = await openCorsApi({ cors: null })
    const { status, cors } = await preflight('/things-v1/options')
    expect([status, cors[ALLOWED]]).toEqual([200, 'https://of-backend.example'])
    expect(forwarded).toEqual([`OPTIONS /options ${APP} POST`])
    expect((await preflight('/things-v1/items')).status).toBe(405)
  })

  it('does not reach the backend with both headers otherwise', async () => {
    const { preflight, forwarded } = await openCorsApi()
    expect((await preflight('/things-v1/options')).cors['access-control-allow-methods']).toBe('GET, OPTIONS, HEAD')
    expect(forwarded).toEqual([])
  })
})

describe('A response', () => {
  it('has the headers of the setting in place of those of the backend', async () => {
    const { send, forwarded } = await openCorsApi()
    const { body, cors } = await send('GET /things-v1/items HTTP/1.1', [`Origin: ${APP}`])
    expect(body).toBe('fine')
    expect(cors).toMatchObject({ [ALLOWED]: APP, vary: 'Accept-Encoding, Origin' })
    expect(cors['access-control-expose-headers']).not.toContain('X-Of-Backend')
    expect(cors).not.toHaveProperty('access-control-allow-private-network')
    expect(cors).not.toHaveProperty('access-control-allow-credentials')
    expect(forwarded).toEqual([`GET /items ${APP} -`])
  })

  it.each([[[]], [[`Origin: ${EVIL}`]], [['Origin: null']]])(
    'permits nothing to a request with %j, and says that it depends on the origin',
    async (headers) => {
      const { send } = await openCorsApi()
      const { status, cors } = await send('GET /things-v1/items HTTP/1.1', headers)
      expect([status, cors]).toEqual([200, { vary: 'Accept-Encoding, Origin' }])
    },
  )

  it.each([
    ['GET /things-v1/items/7 HTTP/1.1', 405],
    ['POST /things-v1/items HTTP/1.1', 401],
    ['GET /things-v1/nothing HTTP/1.1', 404],
    ['GET /things-v1//items HTTP/1.1', 400],
  ])('that refuses %s can be read by the page', async (line, status) => {
    const { send } = await openCorsApi()
    const refused = await send(line, [`Origin: ${APP}`])
    expect([refused.status, refused.cors[ALLOWED], refused.cors['vary']]).toEqual([status, APP, 'Origin'])
    expect(JSON.parse(refused.body)).toHaveProperty('code')
    expect((await send(line, [`Origin: ${EVIL}`])).cors).toEqual({ vary: 'Origin' })
  })

  it.each<[string, CorsApiOptions['gateway'] & {}]>([
    ['lost the registry', { server: { isStaleAt: () => true } }],
    [
      'cannot record calls',
      { append: (call) => void setImmediate(() => call.onRefused(new Error('the disk is full'))) },
    ],
  ])('of a gateway that %s can be read by the page', async (_, gateway) => {
    const { send, preflight } = await openCorsApi({ gateway })
    const { status, cors } = await send('POST /things-v1/items HTTP/1.1', [`Origin: ${APP}`])
    expect([status, cors[ALLOWED]]).toEqual([503, APP])
    expect((await preflight('/things-v1/items')).cors[ALLOWED]).toBe(APP)
  })

  it('of an API without a setting has the headers of its backend', async () => {
    const { send } = await openCorsApi({ cors: null })
    const { cors } = await send('GET /things-v1/items HTTP/1.1', [`Origin: ${APP}`])
    expect(cors).toEqual({
      [ALLOWED]: 'https://of-backend.example',
      'access-control-allow-private-network': 'true',
      'access-control-expose-headers': 'X-Of-Backend',
      vary: 'Accept-Encoding',
    })
  })

  it('allows credentials and further headers if the setting does', async () => {
    const cors = { origins: [APP], credentials: true, headers: ['X-Tenant'], exposeHeaders: ['X-Total'], maxAge: 7 }
    const { send, preflight } = await openCorsApi({ cors })
    const asked = await preflight('/things-v1/items')
    expect(asked.cors).toMatchObject({ 'access-control-allow-credentials': 'true', 'access-control-max-age': '7' })
    expect(asked.cors['access-control-allow-headers']).toContain('x-tenant')
    const got = await send('GET /things-v1/items HTTP/1.1', [`Origin: ${APP}`])
    expect(got.cors).toMatchObject({ [ALLOWED]: APP, 'access-control-allow-credentials': 'true' })
    expect(got.cors['access-control-expose-headers']).toMatch(/, x-total$/)
  })

  it('names no origin if all are allowed, and is never for a sandboxed page', async () => {
    const { send, preflight } = await openCorsApi({ cors: { origins: '*' } })
    expect((await preflight('/things-v1/items', EVIL)).cors[ALLOWED]).toBe('*')
    expect((await send('GET /things-v1/items HTTP/1.1', [`Origin: ${EVIL}`])).cors[ALLOWED]).toBe('*')
    expect((await send('GET /things-v1/items HTTP/1.1', ['Origin: null'])).cors).not.toHaveProperty(ALLOWED)
  })
})

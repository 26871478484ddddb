import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createConsoleCookies } from '../../../../src/interfaces/console-server/console-cookies.ts'
import { createSignIn, type SignInState } from '../../../../src/interfaces/console-server/sign-in.ts'
import { createSeals } from '../../../../src/control/identity/sealed-transaction.ts'
import { createVault } from '../../../../src/foundation/runtime/vault.ts'

const GATEWAY = 'https://gateway.example'
const BASE = 'https://platform.example'
const ISSUER = `${GATEWAY}/platform-v1`
const START_MS = Date.UTC(2026, 0, 1)

function open(isAdmitted = true) {
  const revoked: string[] = []
  const clock = { ms: START_MS, nowMs: () => clock.ms }
  const cookies = createConsoleCookies({ baseUrl: BASE, gatewayUrl: GATEWAY })
  const redeemed: object[] = []
  const signIn = createSignIn({
    gatewayUrl: GATEWAY,
    baseUrl: BASE,
    seals: createSeals<SignInState>({
      vault: createVault(randomBytes(32)),
      clock,
      stage: 'console',
      lifetimeMs: 600_000,
    }),
    cookies,
    source: {
      async redeem(request) {
        redeemed.push(request)
        return request.code === 'good' ? { access: 'a', refresh: 'r', lifetimeMs: 1, tenant: 'acme' } : null
      },
      async revoke(_, refresh) {
        revoked.push(refresh)
      },
    },
    admission: { admits: async () => isAdmitted },
    sessions: { begin: async () => 'new-session' },
    randomBytes,
  })
  const begin = (path = '/console/risks?severity=Critical', organisation = 'acme') => {
    const { location, cookies: set } = signIn.begin(organisation, path)
    const { searchParams } = new URL(location)
    return { url: location, state: searchParams.get('state') ?? '', cookie: set[0]!.split(';')[0]!, searchParams }
  }
  return { clock, signIn, redeemed, revoked, begin }
}

describe('a sign-in', () => {
  it('of a person who is not admitted ends without a session, and revokes the tokens', async () => {
    const { signIn, begin, revoked } = open(false)
    const { state, cookie } = begin()
    const { location, cookies } = await signIn.end({ state, iss: ISSUER, code: 'good' }, cookie)
    expect(location).toBe('/console/?sign-in=portal-off')
    expect(cookies.join()).not.toContain('new-session')
    expect(revoked).toEqual(['r'])
  })

  it('goes to the sign-in with PKCE, and returns to where it began, with a session', async () => {
    const { signIn, begin, redeemed } = open()
    const { url, state, cookie, searchParams } = begin()
    expect(url.startsWith(`${GATEWAY}/oauth2/v2/authorize?`)).toBe(true)
    expect(Object.fromEntries(searchParams)).toMatchObject({
      client_id: 'tollgate-console.acme',
      redirect_uri: `${BASE}/console/callback`,
      code_challenge_method: 'S256',
      resource: ISSUER,
    })
    const { location, cookies } = await signIn.end({ state, iss: ISSUER, code: 'good' }, cookie)
    expect(location).toBe('/console/risks?severity=Critical')
    expect(cookies).toContain('__Host-tollgate-console=new-session; Path=/; HttpOnly; Secure; SameSite=Strict')
    expect(redeemed).toMatchObject([{ clientId: 'tollgate-console.acme', code: 'good' }])
  })

  it.each([
    ['without the cookie', ({ state }: Begun) => [{ state, iss: ISSUER, code: 'good' }, undefined]],
    ['with the state of another sign-in', ({ cookie }: Begun) => [{ state: 'x', iss: ISSUER, code: 'good' }, cookie]],
    ['with two states', ({ state, cookie }: Begun) => [{ state: [state, state], iss: ISSUER, code: 'good' }, cookie]],
    [
      'with the cookie twice',
      ({ state, cookie }: Begun) => [{ state, iss: ISSUER, code: 'good' }, `${cookie}; ${cookie}`],
    ],
    ['from another issuer', ({ state, cookie }: Begun) => [{ state, iss: GATEWAY, code: 'good' }, cookie]],
    ['without an issuer', ({ state, cookie }: Begun) => [{ state, code: 'good' }, cookie]],
    ['without a code', ({ state, cookie }: Begun) => [{ state, iss: ISSUER }, cookie]],
    ['with a code that is refused', ({ state, cookie }: Begun) => [{ state, iss: ISSUER, code: 'bad' }, cookie]],
  ] as const)('ends without a session %s', async (_, toArguments) => {
    const { signIn, begin } = open()
    const [query, cookie] = toArguments(begin()) as [Record<string, unknown>, string | undefined]
    const { location, cookies } = await signIn.end(query, cookie)
    expect(location).toMatch(/^\/console\/\?sign-in=(?:expired|failed)$/)
    expect(cookies.join()).not.toContain('new-session')
  })

  it('ends without a session after ten minutes', async () => {
    const { clock, signIn, begin } = open()
    const { state, cookie } = begin()
    clock.ms = START_MS + 600_000
    expect((await signIn.end({ state, iss: ISSUER, code: 'good' }, cookie)).location).toBe('/console/?sign-in=expired')
  })

  it.each([
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example',
    '/console//evil.example',
    '/console/../v1/consumers',
    '/console/a/../../../v1',
    '/console/..',
    '/console/%2e%2e/v1/me',
    '/console/%2E%2e//evil.example',
    '/console/a/.%2e/%2e./v1/me',
    '/console/a//evil.example',
    '/console/x#//evil.example',
    '/console/\r\nSet-Cookie: x=1',
    '/console/\t/evil.example',
    'javascript:alert(1)',
    '/v1/consumers',
    `/console/${'x'.repeat(3_000)}`,
    '',
  ])('returns to the start page instead of %j', async (path) => {
    const { signIn, begin } = open()
    const { state, cookie } = begin(path)
    const { location } = await signIn.end({ state, iss: ISSUER, code: 'good' }, cookie)
    expect(location).toBe('/console/')
  })
})

type Begun = ReturnType<ReturnType<typeof open>['begin']>

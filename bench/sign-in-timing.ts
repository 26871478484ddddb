/**
 * Whether the time of an answer reveals that a user name, an organisation or a client exists.
 *
 * Runs against a service, whose first admin creates people and a client. Requests with a known and an unknown name alternate, and so
 * does the order of the two. A user name has ten attempts before the throttle, so that there are as many people as that needs.
 *
 *   GATEWAY_URL=… BASE_URL=… ADMIN_CLIENT_ID=… ADMIN_CLIENT_SECRET=… BENCH_PAIRS=150 node bench/sign-in-timing.ts
 */

import { describeMachine } from './machine.ts'
import { spreadOf, toText } from './spread.ts'

const { GATEWAY_URL = 'http://127.0.0.1:8080', BASE_URL = 'http://127.0.0.1:8081' } = process.env
const PAIRS = Number(process.env['BENCH_PAIRS'] ?? 150)
const ATTEMPTS = 9
const AUTHORIZE = `${GATEWAY_URL}/oauth2/v2/authorize`
const TOKEN = `${GATEWAY_URL}/platform-v1/oauth2/v2/token`
const RUN = Date.now().toString(36)
const UNKNOWN_CLIENT = `cli_${'0'.repeat(26)}`
const REQUEST = {
  response_type: 'code',
  redirect_uri: 'http://127.0.0.1:1/',
  code_challenge: 'x'.repeat(43),
  code_challenge_method: 'S256',
}

type Fields = Readonly<Record<string, string>>
/** Returns the answer to one attempt. */
type Attempt = (isKnown: boolean, at: number) => Promise<Answer>

interface Answer {
  readonly elapsedMs: number
  readonly status: number
  readonly text: string
  readonly cookie: string
}

console.log(`machine: ${describeMachine()}; ${PAIRS} pairs`)
const admin = await adminToken()
const people = Math.ceil(PAIRS / ATTEMPTS)
for (let at = 0; at < people; at++) {
  await create('users', { username: userNamed('known', at), name: 'Known', password: 'the password of a person' })
}
const client = await createClient()

await compare('login page of an organisation', (isKnown) => open(isKnown ? 'default' : 'nobody'))
await compare('login at an organisation, unknown user', (isKnown, at) =>
  logIn(isKnown ? 'default' : 'nobody', userNamed('stranger', Math.floor(at / ATTEMPTS))),
)
await compare('login of a user, wrong password', (isKnown, at) =>
  logIn('default', userNamed(isKnown ? 'known' : 'unknown', Math.floor(at / ATTEMPTS))),
)
await compare('provider of an organisation without one', (isKnown) => askProviders(isKnown ? 'default' : 'nobody'))
await compare('authorization request of a client, wrong redirect URI', (isKnown) =>
  get(AUTHORIZE, { ...REQUEST, client_id: isKnown ? client : UNKNOWN_CLIENT }),
)
await compare('wrong secret of a client', (isKnown) =>
  post(TOKEN, {
    grant_type: 'client_credentials',
    client_id: isKnown ? client : UNKNOWN_CLIENT,
    client_secret: 'wrong',
  }),
)

async function compare(name: string, attempt: Attempt): Promise<void> {
  const [known, unknown]: [number[], number[]] = [[], []]
  const statuses = new Set<number>()
  for (let at = 0; at < PAIRS; at++) {
    const order = at % 2 === 0 ? [true, false] : [false, true]
    for (const isKnown of order) {
      const { elapsedMs, status } = await attempt(isKnown, at)
      const samples = isKnown ? known : unknown
      samples.push(elapsedMs)
      statuses.add(status)
    }
  }
  const ratios = known.map((ms, at) => ms / (unknown[at] ?? NaN))
  const ratio = spreadOf(known).median / spreadOf(unknown).median
  console.log(`${name}: HTTP ${[...statuses].join(', ')}`)
  console.log(`  known ${toText(spreadOf(known), 2)} ms, unknown ${toText(spreadOf(unknown), 2)} ms`)
  console.log(`  ratio of the medians ${ratio.toFixed(3)}, of pairs ${toText(spreadOf(ratios), 2)}`)
}

function open(organisation: string): Promise<Answer> {
  return get(AUTHORIZE, { ...REQUEST, client_id: `tollgate-cli.${organisation}` })
}

async function logIn(organisation: string, username: string): Promise<Answer> {
  return submit(await open(organisation), { username, password: 'a wrong password' })
}

async function askProviders(organisation: string): Promise<Answer> {
  return submit(await open(organisation), { provider: '' })
}

function submit({ text, cookie }: Answer, fields: Fields): Promise<Answer> {
  const transaction = /name="transaction" value="([^"]*)"/.exec(text)?.[1] ?? ''
  return post(AUTHORIZE, { transaction, ...fields }, { cookie })
}

function get(url: string, fields: Fields): Promise<Answer> {
  return send(`${url}?${new URLSearchParams(fields).toString()}`, {})
}

function post(url: string, fields: Fields, headers: Fields = {}): Promise<Answer> {
  return send(url, { method: 'POST', body: new URLSearchParams(fields), headers })
}

async function send(url: string, init: RequestInit): Promise<Answer> {
  const startedMs = performance.now()
  const answer = await fetch(url, { redirect: 'manual', ...init })
  const text = await answer.text()
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? ''
  return { elapsedMs: performance.now() - startedMs, status: answer.status, text, cookie }
}

function userNamed(kind: string, at: number): string {
  return `${kind}-${RUN}-${at}`
}

async function createClient(): Promise<string> {
  const consumer = await create('consumers', { name: `timing ${RUN}`, kind: 'application' })
  const credential = { securityTypes: ['OAuth2'], redirectUris: ['https://app.example/'] }
  const { id } = await create('subscriptions', { consumer: consumer.id, api: 'platform-v1', ...credential })
  const { items } = await call<{ items: { clientId: string }[] }>(`subscriptions/${id}/credentials`, {})
  return items[0]?.clientId ?? ''
}

function create(path: string, body: object): Promise<{ readonly id: string }> {
  const headers = { 'content-type': 'application/json' }
  return call(path, { method: 'POST', body: JSON.stringify(body), headers })
}

async function call<T>(path: string, { headers, ...init }: RequestInit): Promise<T> {
  const authorization = { authorization: `Bearer ${admin}` }
  const answer = await fetch(`${BASE_URL}/v1/${path}`, {
    ...init,
    headers: { ...(headers as Fields), ...authorization },
  })
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as T
}

async function adminToken(): Promise<string> {
  const { ADMIN_CLIENT_ID = '', ADMIN_CLIENT_SECRET = '' } = process.env
  const grant = { grant_type: 'client_credentials', client_id: ADMIN_CLIENT_ID, client_secret: ADMIN_CLIENT_SECRET }
  const { text, status } = await post(TOKEN, grant)
  if (status !== 200) throw new Error(`no token of the admin: ${status} ${text}`)
  return (JSON.parse(text) as { access_token: string }).access_token
}

/** What the tenant, its consumers and its people store: hostile texts in the resources of every kind. */

import { expect, vi } from 'vitest'
import { hostileCertificate } from '../../fixtures/hostile-certificate.ts'
import { hostileApi, hostileSla, SCOPE, TEXT, toBase64 } from './documents.ts'
import { hostileOf } from './fields.ts'
import type { Filler } from './fill.ts'

export const API = 'hostile-v1'

export interface Addresses {
  /** Answers every call with hostile texts. */
  readonly backend: string
  /** An identity provider. */
  readonly issuer: string
}

export interface Stored {
  readonly consumer: string
  readonly subscription: string
  readonly apiKey: string
  /** Of a token of the identity provider: its audience, the client and the person. */
  readonly audience: string
  readonly claims: Readonly<Record<string, string>>
}

const WAIT = { timeout: 30_000, interval: 100 }
const YEAR_MS = 31_536_000_000
const later = (): string => new Date(Date.now() + YEAR_MS).toISOString()

export async function store(filler: Filler, decider: Filler, addresses: Addresses): Promise<Stored> {
  await storeGovernance(filler)
  await storeApi(filler, addresses)
  await storeProgramme(filler, decider, addresses)
  const stored = await storeAccess(filler, decider, addresses)
  await storePeople(filler, stored)
  await storeRest(filler, addresses)
  return stored
}

async function storeGovernance({ send }: Filler): Promise<void> {
  const rule = {
    message: TEXT,
    description: TEXT,
    given: '$.info',
    severity: 'warn',
    then: { field: 'x-absent', function: 'truthy' },
  }
  const ruleset = { extends: undefined, formats: undefined, aliases: undefined, rules: { 'hostile-rule': rule } }
  const rules = await send('createRuleset', {}, ruleset)
  await send('updateRuleset', rules, ruleset)
  const approval = { minScore: 100, allowErrors: false, allowBreaking: false, exposures: [] }
  await send('putTenantPolicy', {}, { approval, ruleset: rules['id'] })
  await send('updateTenantPolicy', {}, { approval, ruleset: rules['id'] })
  const adr = await send('createAdr', {}, { status: 'Accepted', api: undefined })
  await send('updateAdr', adr, { api: undefined })
  await send('updatePrinciple', await send('createPrinciple', {}))
}

/** A backend without certificates, which cannot be hostile as text. */
const plain = (url: string) => ({ ...OTHER_FORM, url, tls: undefined, secretHeaders: undefined })
const OTHER_FORM = { targets: undefined, balance: undefined }
/** The same with its address as one of several. */
const inTargets = (url: string) => ({ ...plain(url), url: undefined, targets: [{ url }] })

/** The subjects of certificates are hostile. */
function withCertificates(url: string) {
  const { certificate, key } = hostileCertificate()
  const secretHeaders = [{ name: 'X-Hostile', value: 'secret' }]
  return { ...inTargets(url), tls: { certificate, key, ca: certificate }, secretHeaders }
}

function deployment(url: string, toBackend: (url: string) => object = plain) {
  const valueOf = (list: string): string => hostileOf(`stageRevision /transform/${list}/[]/value`)
  const fields = (list: string) => [{ name: 'X-Hostile', value: valueOf(list) }]
  const headersOf = (use: string) => ({ remove: [], set: fields(`${use}/set`), add: fields(`${use}/add`) })
  const transform = { request: headersOf('request'), response: headersOf('response'), basePath: undefined }
  return { backend: toBackend(url), transform, allowedScopes: [SCOPE] }
}

const FOR_ALL = { percent: undefined, consumers: undefined }

async function storeApi({ send, read }: Filler, { backend }: Addresses): Promise<void> {
  const specification = toBase64(hostileApi())
  const url = `${backend}/<img/src=x/onerror=ran(900)>`
  await send('validateSpecification', {}, { specification, previous: specification })
  const staged = await send('stageRevision', {}, { specification, api: API, ...deployment(url) })
  await send('updateProxy', staged)
  await send('activateRevision', staged, FOR_ALL)
  // Becomes a canary.
  await send('stageRevision', {}, { specification, api: API, ...deployment(url) })
  await send('updateApi', { name: API })
  const { items } = await read<{ items: { id: string }[] }>(`/v1/openapispecs?api=${API}`)
  await send('updateOpenApiSpec', items[0]!)
  await send('validateOpenSlaSpec', {}, { api: API, specification: toBase64(hostileSla()) })
  await send(
    'updateOpenSlaSpec',
    await send('createOpenSlaSpec', {}, { api: API, specification: toBase64(hostileSla()) }),
  )
  const old = toBase64({ ...hostileApi(), info: { title: 'Old', version: '1.0.0', description: TEXT } })
  await send(
    'activateRevision',
    await send('stageRevision', {}, { specification: old, api: 'old-v1', ...deployment(url, inTargets) }),
    FOR_ALL,
  )
  const overTls = deployment('https://hostile.example', withCertificates)
  await send('stageRevision', {}, { specification: old, api: 'old-v1', ...overTls })
  await send('deprecateApi', { name: 'old-v1' }, { retirementDate: later(), successor: API })
  const product = await send('createProduct', {}, { apis: [API] })
  await send('replaceProduct', product, { apis: [API] })
  await send('updateProduct', product, { apis: [API] })
}

async function storeProgramme({ send, read }: Filler, decider: Filler, { backend }: Addresses): Promise<void> {
  const specification = toBase64({ ...hostileApi(), info: { title: 'Waiting', version: '1.0.0', description: TEXT } })
  const programme = await send(
    'createProgramme',
    {},
    {
      specification,
      openSla: toBase64(hostileSla()),
      backend: plain(`${backend}/<img/src=x/onerror=ran(900)>`),
    },
  )
  await send('labelProgramme', programme)
  const flowOf = async (): Promise<string> => {
    const { approvalFlow } = await read<{ approvalFlow: string | null }>(`/v1/programmes/${programme['id']}`)
    return approvalFlow ?? ''
  }
  await vi.waitFor(async () => expect(await flowOf()).not.toBe(''), WAIT)
  const path = { id: programme['id'], flowId: await flowOf() }
  await decider.send('decideOnProgramme', path, { outcome: 'AmendmentRequired' })
  await send('updateProgramme', programme, { specification })
}

async function storeAccess(filler: Filler, decider: Filler, { issuer }: Addresses): Promise<Stored> {
  const { send, read } = filler
  const { id: consumer = '' } = await send('createConsumer', {}, { kind: 'application' })
  await send('updateConsumer', { id: consumer })
  const [proxy] = (await read<{ items: { id: string }[] }>(`/v1/proxies?api=${API}`)).items
  await send('activateRevision', proxy!, { ...FOR_ALL, consumers: [consumer] })
  const signInOf = (operation: string) => {
    const of = (name: string) => hostileOf(`${operation} /signIn/${name}`)
    const role = { claim: of('roles/[]/claim'), value: of('roles/[]/value'), role: 'consumer', consumers: [consumer] }
    return { roles: [role], scopes: ['profile'] }
  }
  const created = { issuer, apis: undefined, signIn: signInOf('createIdentityProvider') }
  const provider = await send('createIdentityProvider', {}, created)
  await send('updateIdentityProvider', provider, { apis: undefined, signIn: signInOf('updateIdentityProvider') })
  await send('createUser', {}, { roles: undefined, identity: { provider: provider['id'] }, password: undefined })
  const to = { consumer, api: API, product: undefined, expiresAt: later(), scopes: [SCOPE] }
  const { id: subscription = '' } = await send(
    'createSubscription',
    {},
    {
      ...to,
      slaVariant: undefined,
      securityTypes: ['OAuth2', 'ApiKey', 'PKCE'],
      redirectUris: ["https://hostile.example/?'onerror='ran(904)"],
      federated: undefined,
    },
  )
  await send('updateSubscription', { id: subscription }, { expiresAt: later() })
  await send('setScopes', { id: subscription }, { scopes: [SCOPE] })
  await send(
    'createSubscription',
    {},
    {
      ...to,
      slaVariant: TEXT,
      securityTypes: ['Federated'],
      redirectUris: undefined,
      federated: { issuer, clientId: TEXT },
    },
  )
  await send('putApiPolicy', { name: API }, { exposure: 'Public' })
  await send('updateApiPolicy', { name: API }, { exposure: 'Public', subscriptionApproval: 'Manual' })
  const waiting = await send(
    'createSubscription',
    {},
    { ...to, slaVariant: undefined, redirectUris: undefined, federated: undefined },
  )
  const [flow] = (await read<{ items: { id: string }[] }>(`/v1/subscriptions/${waiting['id']}/approvalFlows`)).items
  await decider.send('decide', { id: waiting['id'], flowId: flow!.id }, { outcome: 'AmendmentRequired' })
  await send('labelApprovalFlow', flow!)
  await send('requestTierChange', { id: subscription }, { slaVariant: TEXT })
  const { items } = await read<{ items: { id: string; apiKey?: string }[] }>(
    `/v1/subscriptions/${subscription}/credentials`,
  )
  for (const { id } of items) await send('updateCredential', { id: subscription, credentialId: id })
  const claim = (name: string): string => hostileOf(`updateIdentityProvider /claims/${name}`)
  return {
    consumer,
    subscription,
    apiKey: items.find(({ apiKey }) => apiKey !== undefined)?.apiKey ?? '',
    audience: hostileOf('updateIdentityProvider /audience'),
    claims: { [claim('clientId')]: TEXT, [claim('person')]: TEXT, [claim('scope')]: SCOPE },
  }
}

async function storePeople({ send }: Filler, { consumer }: Stored): Promise<void> {
  const role = await send('createRole', {}, { name: 'hostile', scopes: ['risks:read'] })
  await send('replaceRole', role, { scopes: ['risks:read'] })
  await send('updateRole', role, { scopes: ['risks:read'] })
  const roles = [{ role: 'consumer', consumers: [consumer] }]
  const { id } = await send('createUser', {}, { username: 'hostile', roles, identity: undefined, password: undefined })
  await send('updateUser', { id }, { roles })
}

async function storeRest({ send }: Filler, { backend }: Addresses): Promise<void> {
  await send('updatePortal', {}, { logo: undefined, colour: undefined })
  const tenant = await send('createTenant', {})
  await send('updateTenant', tenant, { portal: { logo: undefined, colour: undefined, name: TEXT } })
  const webhook = await send('createEventSubscription', {}, { secret: undefined })
  await send('updateEventSubscription', webhook)
  await send('testEventSubscription', webhook, { type: 'DesignDrift' })
  const refused = await send(
    'createEventSubscription',
    {},
    { url: `${backend}/hook?"><img/src=x/onerror=ran(905)>`, secret: undefined },
  )
  await send('testEventSubscription', refused, { type: 'DesignDrift' })
}

/** Mutes the first episode that a call has opened. */
export async function storeMute({ send, read }: Filler): Promise<void> {
  const risksOf = async (): Promise<readonly { riskId: string }[]> =>
    (await read<{ items: { riskId: string }[] }>('/v1/risks')).items
  await vi.waitFor(async () => expect((await risksOf()).length).toBeGreaterThan(0), WAIT)
  const until = new Date(Date.now() + 86_400_000).toISOString()
  await send('createMute', { riskId: (await risksOf())[0]!.riskId }, { until })
}

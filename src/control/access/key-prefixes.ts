/**
 * Adds the first characters of API keys to the credentials that earlier versions have created, so that a key is found by them.
 *
 * Runs once per data folder, in batches beside the other work. After an interruption the next start continues.
 */

import { listAll } from '../command/page.ts'
import { startOfKey } from '../../boundary/plan/credential-format.ts'
import type { Vault } from '../../foundation/runtime/vault.ts'
import {
  documentKind,
  RevisionConflict,
  type Commit,
  type Document,
  type Registry,
} from '../../storage/store/registry.ts'
import { CREDENTIAL_KIND, credentialWrite, type CredentialBody } from './credential-document.ts'

const MARKER_KIND = documentKind<unknown>('key_prefixes', 'hidden')
const MARKER_ID = 'key_prefixes'
const ACTION = 'credential.keyPrefix'
const BATCH_MAX = 100

export interface KeyPrefixesOptions {
  readonly registry: Pick<Registry, 'get' | 'list' | 'commit' | 'commitEach'>
  readonly vault: Pick<Vault, 'decrypt'>
  /** The tenant of the operator. */
  readonly tenant: string
  /** Whether the service stops. */
  readonly isStopped: () => boolean
}

/** Returns the number of changed credentials. */
export async function addKeyPrefixes(options: KeyPrefixesOptions): Promise<number> {
  const { registry, tenant, isStopped } = options
  if ((await registry.get(MARKER_KIND, MARKER_ID)) !== null) return 0
  let count = 0
  let batch: Document<CredentialBody>[] = []
  for await (const credential of listAll(registry, CREDENTIAL_KIND, { limit: BATCH_MAX })) {
    if (isStopped()) return count
    if (credential.body.apiKey === '' || credential.body.keyPrefix !== undefined) continue
    const withPrefix = readPrefix(options, credential)
    if (withPrefix !== null) batch.push(withPrefix)
    if (batch.length < BATCH_MAX) continue
    count += await change(options, batch)
    batch = []
  }
  count += await change(options, batch)
  const marker = { kind: MARKER_KIND, id: MARKER_ID, tenant, expected: 0, body: {} }
  await registry.commit({ tenant, consumer: 'system' }, ACTION, [marker])
  return count
}

/** A credential that another command has changed meanwhile is read again, and then changed. */
async function change(options: KeyPrefixesOptions, credentials: readonly Document<CredentialBody>[]): Promise<number> {
  if (credentials.length === 0) return 0
  const { registry } = options
  const results = await registry.commitEach(credentials.map(toCommit))
  const other = results.find((result) => result !== null && !(result instanceof RevisionConflict))
  if (other) throw other
  const conflicts = credentials.filter((_, index) => results[index] !== null)
  const again = await Promise.all(conflicts.map(({ id }) => registry.get(CREDENTIAL_KIND, id)))
  const open = again.flatMap((each) =>
    each === null || each.body.keyPrefix !== undefined ? [] : (readPrefix(options, each) ?? []),
  )
  return credentials.length - conflicts.length + (await change(options, open))
}

/** Returns null for a key that cannot be decrypted, because its row is damaged. */
function readPrefix(
  { vault }: KeyPrefixesOptions,
  credential: Document<CredentialBody>,
): Document<CredentialBody> | null {
  const { id, body } = credential
  try {
    return { ...credential, body: { ...body, keyPrefix: startOfKey(vault.decrypt(body.apiKey, id)) } }
  } catch {
    return null
  }
}

function toCommit({ id, tenant, revision, body }: Document<CredentialBody>): Commit {
  const writes = [credentialWrite(id, tenant, revision, body)]
  return { author: { tenant, consumer: 'system' }, action: ACTION, writes }
}

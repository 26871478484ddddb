/** Compares the backend of a request with that of a revision, so that a step that is repeated does not stage it twice. */

import { isDeepStrictEqual } from 'node:util'
import type { Vault } from '../../foundation/runtime/vault.ts'
import { toBackend, type BackendInput } from './backend-address.ts'
import { openSecrets, SecretsUnreadable, type Owner } from './backend-secrets.ts'
import type { DeployedBackend } from './proxy-document.ts'

/** Returns whether staging `input` would yield `deployed`. A secret that the request leaves out is the stored one. */
export function isSameBackend(
  vault: Pick<Vault, 'decrypt'>,
  owner: Owner,
  input: BackendInput,
  deployed: DeployedBackend,
): boolean {
  const { tls, secretHeaders = [], ...settings } = deployed
  if (!isDeepStrictEqual(toBackend(input, null), settings)) return false
  const { tls: wantedTls, secretHeaders: wantedHeaders = [] } = input
  if (wantedTls?.certificate !== tls?.certificate || wantedTls?.ca !== tls?.ca) return false
  const names = wantedHeaders.map(({ name }) => name)
  if (
    !isDeepStrictEqual(
      names,
      secretHeaders.map(({ name }) => name),
    )
  )
    return false
  const opened = openedOrNull(vault, owner, deployed)
  if (opened === null) return false
  return (
    isSameSecret(wantedTls?.key, opened.tls?.key) &&
    wantedHeaders.every(({ value }, index) => isSameSecret(value, opened.secretHeaders?.[index]?.value))
  )
}

function isSameSecret(wanted: string | undefined, stored: string | undefined): boolean {
  return wanted === undefined || wanted === stored
}

/** Secrets that cannot be decrypted have to be staged again. */
function openedOrNull(vault: Pick<Vault, 'decrypt'>, owner: Owner, deployed: DeployedBackend): DeployedBackend | null {
  try {
    return openSecrets(vault, owner, deployed)
  } catch (cause) {
    if (cause instanceof SecretsUnreadable) return null
    throw cause
  }
}

/** A link that sets a password, shown once. */

import type { Changes } from '../../api/operations.ts'
import { Once } from '../../parts/once.tsx'
import { texts } from '../../texts.ts'

const words = texts.settings.people

interface OneTimeLinkProps {
  readonly of: Pick<Changes<'POST /v1/users'>, 'invitation'>
  readonly onDone: () => void
}

/** The page behind it sets the password. */
export function OneTimeLink({ of: { invitation }, onDone }: OneTimeLinkProps) {
  if (invitation === undefined) return null
  const { url, expiresAt } = invitation
  const until = new Date(expiresAt).toLocaleString('en')
  return <Once text={words.linkOnce(until)} secrets={[[words.link, url]]} done={words.linkClose} onDone={onDone} />
}

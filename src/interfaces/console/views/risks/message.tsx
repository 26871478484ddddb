/** The message of an episode. It begins with the name of the party, which must not change the direction of the rest. */

import type { Party } from './party.ts'

interface MessageProps {
  readonly text: string
  readonly party: Pick<Party, 'name'>
}

export function Message({ text, party: { name } }: MessageProps) {
  if (name === '' || !text.startsWith(name)) return <bdi class="prose">{text}</bdi>
  return (
    <>
      <bdi>{name}</bdi>
      <span class="prose">{text.slice(name.length)}</span>
    </>
  )
}

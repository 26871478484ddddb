/** Who is signed in, for which consumer, and how to end it. */

import { chosenConsumer, isSignedIn, request } from '../api/client.ts'
import { dropAnswers } from '../api/use-read.ts'
import { BASE, go } from '../router.ts'
import { texts } from '../texts.ts'
import { choose, consumers } from './brand.ts'
import { person } from './person.ts'

const { account: words } = texts

export function Account() {
  const name = person.value?.name ?? person.value?.username ?? ''
  const signOut = async (): Promise<void> => {
    await request('/console/sign-out', { method: 'POST' })
    isSignedIn.value = false
  }
  return (
    <>
      <ConsumerChoice />
      <a href={`${BASE}settings/me`} class="quiet">
        <bdi>{words.signedInAs(name)}</bdi>
      </a>
      <button type="button" onClick={signOut}>
        {words.signOut}
      </button>
    </>
  )
}

/** For a person of several consumers. The console shows one of them at a time. */
function ConsumerChoice() {
  if (consumers.value.length < 2) return null
  const onChange = (consumer: string): void => {
    choose(consumer)
    dropAnswers()
    go('')
  }
  return (
    <select
      aria-label={words.consumer}
      value={chosenConsumer.value === '' ? consumers.value[0]?.id : chosenConsumer.value}
      onChange={({ currentTarget }) => onChange(currentTarget.value)}
    >
      {consumers.value.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  )
}

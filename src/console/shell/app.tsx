/** The frame of all views: who is signed in, the sections, and the view that the path names. */

import { useEffect, useState } from 'preact/hooks'
import { CallRefused, change, isSignedIn, request, type Problem } from '../api/client.ts'
import { Skeleton } from '../parts/states.tsx'
import { BASE, go, path } from '../router.ts'
import { texts } from '../texts.ts'
import { SignIn } from '../views/sign-in.tsx'
import { findPerson, person, scopes } from './person.ts'
import { maySee, SECTIONS } from './sections.tsx'

export function App() {
  const [problem, setProblem] = useState<Problem | null>(null)
  useEffect(() => {
    findPerson().catch((cause: unknown) => {
      if (!(cause instanceof CallRefused)) throw cause
      if (cause.problem.status !== 401) setProblem(cause.problem)
    })
  }, [])
  if (isSignedIn.value === false) return <SignIn />
  if (problem !== null) return <p class="alone">{problem.detail}</p>
  if (isSignedIn.value === null) return <Skeleton />
  return <Frame />
}

function Frame() {
  useSectionKeys()
  const section = SECTIONS.find((each) => each.path === path.value.split('/')[0])
  useEffect(() => {
    document.title = section === undefined ? texts.product : `${section.title} · ${texts.product}`
  }, [section])
  const visible = SECTIONS.filter((each) => maySee(each, scopes.value))
  return (
    <>
      <a class="skip" href="#view">
        {texts.skip}
      </a>
      <header>
        <strong>{texts.product}</strong>
        <Account />
      </header>
      <nav aria-label={texts.navigation.label}>
        <ul>
          {visible.map(({ path: to, title, key }) => (
            <li key={to}>
              <a
                href={BASE + to}
                aria-current={section?.path === to ? 'page' : undefined}
                aria-keyshortcuts={`g ${key}`}
              >
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main id="view" tabIndex={-1}>
        {section === undefined ? <p class="empty">{texts.states.notFound}</p> : <section.View />}
      </main>
    </>
  )
}

function Account() {
  const name = person.value?.name ?? person.value?.username ?? ''
  const signOut = async (): Promise<void> => {
    await request('/console/sign-out', { method: 'POST' })
    isSignedIn.value = false
  }
  const signOutEverywhere = async (): Promise<void> => {
    await change('DELETE /v1/me/sessions', {}, undefined)
    isSignedIn.value = false
  }
  return (
    <span class="account">
      <span class="quiet">{texts.account.signedInAs(name)}</span>
      <button type="button" onClick={signOut}>
        {texts.account.signOut}
      </button>
      {scopes.value.has('me:write') && (
        <button type="button" onClick={signOutEverywhere}>
          {texts.account.everywhere}
        </button>
      )}
    </span>
  )
}

/** `g`, then the letter of a section. */
function useSectionKeys(): void {
  useEffect(() => {
    let isGoing = false
    const onKey = ({ key, target, ctrlKey, metaKey, altKey }: KeyboardEvent): void => {
      const isTyping = target instanceof HTMLElement && target.matches('input, textarea, select')
      if (isTyping || ctrlKey || metaKey || altKey) return
      const section = isGoing ? SECTIONS.find((each) => each.key === key && maySee(each, scopes.value)) : undefined
      isGoing = key === 'g'
      if (section !== undefined) go(section.path)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}

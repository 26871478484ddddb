/** The frame of all views: who is signed in, the sections, and the view that the path names. */

import { useEffect, useState } from 'preact/hooks'
import { dropCalls } from '../api/script.ts'
import { CallRefused, chosenConsumer, isSignedIn, type Problem } from '../api/client.ts'
import { dropAnswers } from '../api/use-read.ts'
import { NotFoundPage, Skeleton } from '../parts/states.tsx'
import { Toasts } from '../parts/toast.tsx'
import { path } from '../router.ts'
import { texts } from '../texts.ts'
import { SignIn } from '../views/sign-in.tsx'
import { useFocusAfter, useFocusKeeper } from './focus.ts'
import { Header } from './header.tsx'
import { useKeys } from './keys.ts'
import { Navigation } from './navigation.tsx'
import { findPerson, scopes } from './person.ts'
import { sectionsOf } from './portal-sections.tsx'

export function App() {
  const [problem, setProblem] = useState<Problem | null>(null)
  useEffect(() => {
    findPerson().catch((cause: unknown) => {
      if (!(cause instanceof CallRefused)) throw cause
      if (cause.problem.status !== 401) setProblem(cause.problem)
    })
  }, [])
  useEffect(() => {
    if (isSignedIn.value === false) dropAnswers()
  }, [isSignedIn.value])
  if (isSignedIn.value === false) return <SignIn />
  if (problem !== null) return <p class="alone">{problem.detail}</p>
  if (isSignedIn.value === null) return <Skeleton />
  return <Frame />
}

function Frame() {
  useKeys()
  const section = sectionsOf(scopes.value).find((each) => each.path === path.value.split('/')[0])
  useEffect(dropCalls, [path.value])
  useFocusAfter(path.value)
  useFocusKeeper()
  return (
    <>
      <a class="skip" href="#view">
        {texts.skip}
      </a>
      <Header />
      <Navigation current={section} />
      <main id="view" tabIndex={-1}>
        {section === undefined ? <NotFoundPage /> : <section.View key={section.path + chosenConsumer.value} />}
      </main>
      <Toasts />
    </>
  )
}

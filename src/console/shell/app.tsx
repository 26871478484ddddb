/** The frame of all views: who is signed in, the sections, and the view that the path names. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { forgetCalls } from '../api/script.ts'
import { CallRefused, chosenConsumer, isSignedIn, type Problem } from '../api/client.ts'
import { forgetAnswers } from '../api/use-read.ts'
import { NotFound, Skeleton } from '../parts/states.tsx'
import { Toasts } from '../parts/toast.tsx'
import { path } from '../router.ts'
import { texts } from '../texts.ts'
import { SignIn } from '../views/sign-in.tsx'
import { Account } from './account.tsx'
import { brand } from './brand.ts'
import { useKeys } from './keys.ts'
import { lazy } from './lazy.tsx'
import { Navigation } from './navigation.tsx'
import { PaletteButton } from './palette-button.tsx'
import { findPerson, scopes } from './person.ts'
import { sectionsOf } from './portal-sections.tsx'
import { useFocusKeeper } from './use-focus-keeper.ts'

const { View: ScriptButton } = lazy(async () => (await import('./script.tsx')).ScriptButton)

export function App() {
  const [problem, setProblem] = useState<Problem | null>(null)
  useEffect(() => {
    findPerson().catch((cause: unknown) => {
      if (!(cause instanceof CallRefused)) throw cause
      if (cause.problem.status !== 401) setProblem(cause.problem)
    })
  }, [])
  useEffect(() => {
    if (isSignedIn.value === false) forgetAnswers()
  }, [isSignedIn.value])
  if (isSignedIn.value === false) return <SignIn />
  if (problem !== null) return <p class="alone">{problem.detail}</p>
  if (isSignedIn.value === null) return <Skeleton />
  return <Frame />
}

function Frame() {
  useKeys()
  const section = sectionsOf(scopes.value).find((each) => each.path === path.value.split('/')[0])
  useEffect(forgetCalls, [path.value])
  useFocusAfter(path.value)
  useFocusKeeper()
  return (
    <>
      <a class="skip" href="#view">
        {texts.skip}
      </a>
      <header>
        <BrandMark />
        <span class="account">
          <PaletteButton />
          <ScriptButton />
          <Account />
        </span>
      </header>
      <Navigation current={section} />
      <main id="view" tabIndex={-1}>
        {section === undefined ? <NotFound /> : <section.View key={section.path + chosenConsumer.value} />}
      </main>
      <Toasts />
    </>
  )
}

/** A link that led to a view may be gone. The focus then goes to the view, so that the keyboard and screen readers continue there. */
function useFocusAfter(address: string): void {
  const isFirst = useRef(true)
  useEffect(() => {
    const isLost = !isFirst.current && document.activeElement === document.body
    isFirst.current = false
    if (isLost) document.getElementById('view')?.focus({ preventScroll: true })
  }, [address])
}

/** The name and the logo of the organisation, or of the product. */
function BrandMark() {
  const { name = null, logoUrl = null } = brand.value ?? {}
  return (
    <strong class="brand">
      {logoUrl !== null && <img src={logoUrl} alt="" />}
      <bdi>{name ?? texts.product}</bdi>
    </strong>
  )
}

/** The head of the page: the brand, the search, and the account. On a narrow screen one row, with the rest and the sections in a menu. */

import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { path } from '../router.ts'
import { texts } from '../texts.ts'
import { Account } from './account.tsx'
import { brand } from './brand.ts'
import { lazy } from './lazy.tsx'
import { PaletteButton } from './palette-button.tsx'

const { View: ScriptButton } = lazy(async () => (await import('./script.tsx')).ScriptButton)
const isMenuOpen = signal(false)

export function Header() {
  useEffect(() => {
    isMenuOpen.value = false
  }, [path.value])
  useEscape()
  return (
    <header data-open={isMenuOpen.value}>
      <button
        type="button"
        class="menu"
        aria-expanded={isMenuOpen.value}
        onClick={() => (isMenuOpen.value = !isMenuOpen.value)}
      >
        {texts.navigation.menu}
      </button>
      <BrandMark />
      <PaletteButton />
      <span class="account">
        <ScriptButton />
        <Account />
      </span>
    </header>
  )
}

/** Closes the menu, and gives the focus back to its button. */
function useEscape(): void {
  useEffect(() => {
    const onKey = ({ key }: KeyboardEvent): void => {
      if (key !== 'Escape' || !isMenuOpen.value || document.querySelector('dialog[open]') !== null) return
      isMenuOpen.value = false
      document.querySelector<HTMLElement>('header .menu')?.focus()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
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

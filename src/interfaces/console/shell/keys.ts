/** Keys of the whole console: `g` and a letter open a section, `/` moves to the search field, `j` and `k` walk through a list. */

import { useLayoutEffect } from 'preact/hooks'
import { go } from '../router.ts'
import { scopes } from './person.ts'
import { sectionsOf } from './portal-sections.tsx'
import { maySee } from './sections.tsx'

export function useKeys(): void {
  // Before the first paint, so that no key is lost.
  useLayoutEffect(() => {
    let isGoing = false
    const onKey = (event: KeyboardEvent): void => {
      const { key, target, ctrlKey, metaKey, altKey } = event
      const isElsewhere =
        target instanceof Element && target.closest('input, textarea, select, dialog, .cm-editor') !== null
      if (isElsewhere || ctrlKey || metaKey || altKey) return
      const section = isGoing
        ? sectionsOf(scopes.value).find((each) => each.key === key && maySee(each, scopes.value))
        : undefined
      isGoing = key === 'g'
      if (section !== undefined) go(section.path)
      else if (key === 'j') walk(1)
      else if (key === 'k') walk(-1)
      else if (key === '/') search(event)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}

/** Moves the focus to the next or the previous row that leads somewhere. */
function walk(step: 1 | -1): void {
  const links = [...document.querySelectorAll<HTMLElement>('main tbody th a, main [data-row]')]
  const at = links.indexOf(document.activeElement as HTMLElement)
  const next = at === -1 ? (step === 1 ? 0 : links.length - 1) : at + step
  links[next]?.focus()
}

function search(event: KeyboardEvent): void {
  const field = document.querySelector<HTMLInputElement>('main [data-search]')
  if (field === null) return
  event.preventDefault()
  field.focus()
  field.select()
}

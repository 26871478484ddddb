/**
 * The focus is not lost: when the element that has it leaves the page, the nearest place around it that is left gets the focus.
 *
 * A dialog gives the focus back to the button that opened it. That button may go a moment later, when the view has read its data
 * again: a revision that serves cannot be activated.
 */

import { useEffect, useRef } from 'preact/hooks'

export function useFocusKeeper(): void {
  useEffect(() => {
    /** The element that had the focus last, and what it was in. */
    let around: readonly Element[] = []
    const remember = ({ target }: FocusEvent): void => {
      around = target instanceof Element ? withAncestors(target) : []
    }
    // A person who presses the pointer beside everything takes the focus away.
    const evict = (): void => {
      around = []
    }
    const observer = new MutationObserver(() => {
      if (around[0]?.isConnected !== false || document.activeElement !== document.body) return
      const place = around.find((each) => each.isConnected && each.matches('[tabindex]'))
      around = []
      focusOn(place)
    })
    addEventListener('focusin', remember)
    addEventListener('pointerdown', evict, true)
    observer.observe(document.body, { childList: true, subtree: true })
    return () => {
      removeEventListener('focusin', remember)
      removeEventListener('pointerdown', evict, true)
      observer.disconnect()
    }
  }, [])
}

/** A key may open a view while nothing has the focus. The keyboard and screen readers then continue in the view. */
export function useFocusAfter(address: string): void {
  const isFirst = useRef(true)
  useEffect(() => {
    if (!isFirst.current && document.activeElement === document.body) focusOn(undefined)
    isFirst.current = false
  }, [address])
}

function withAncestors(element: Element): readonly Element[] {
  const all: Element[] = []
  for (let each: Element | null = element; each !== null; each = each.parentElement) all.push(each)
  return all
}

/** On the view, if there is no other place. */
function focusOn(place: Element | undefined): void {
  const found = place instanceof HTMLElement ? place : document.getElementById('view')
  found?.focus({ preventScroll: true })
}

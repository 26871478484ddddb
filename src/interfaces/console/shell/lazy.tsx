/** Views that are loaded when they are first opened, so that the first page is small. */

import type { FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Skeleton } from '../parts/states.tsx'
import { texts } from '../texts.ts'

export interface LazyView {
  readonly View: FunctionComponent
  /** Loads the view before it is opened. */
  readonly preload: () => void
}

export function lazy(load: () => Promise<FunctionComponent>): LazyView {
  let loaded: FunctionComponent | null = null
  async function get(): Promise<FunctionComponent> {
    loaded ??= await load()
    return loaded
  }
  function View() {
    const [state, setState] = useState<'waiting' | 'ready' | 'failed'>('waiting')
    const begin = (): void => {
      setState('waiting')
      get().then(
        () => setState('ready'),
        () => setState('failed'),
      )
    }
    useEffect(begin, [])
    if (loaded !== null) {
      const Loaded = loaded
      return <Loaded />
    }
    return state === 'failed' ? <Failed retry={begin} /> : <Skeleton />
  }
  return { View, preload: () => void get().catch(() => undefined) }
}

function Failed({ retry }: { readonly retry: () => void }) {
  return (
    <p class="notice" role="alert">
      {texts.states.failed}{' '}
      <button type="button" onClick={retry}>
        {texts.states.retry}
      </button>
    </p>
  )
}

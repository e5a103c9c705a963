import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../controller/dashboard/static",
    emptyOutDir: true,
    // nothing inline: the page's policy lets no script or style run that is not a file of ours
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
